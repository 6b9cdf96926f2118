-- Let a parked session be worked on again, with all its attempts.
-- a: op, incarnation
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

unpark()
local ring = ask()
save()
rung(ring)
event('unblocked', {request = num('request_no')})
return remember(reply('steered', {ring = ring, request_no = num('request_no')}))
