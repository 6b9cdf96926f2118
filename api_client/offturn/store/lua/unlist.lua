-- Take a session that has no life out of the due set and the dead letters.
if not alive() then unlist() end
return reply('idle')
