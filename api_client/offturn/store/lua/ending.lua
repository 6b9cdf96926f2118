-- Behind each script, whose own text is the function `script`: what was written lives as long as the session does.
local answer = script()
if written and alive() then prolong() end
return answer
