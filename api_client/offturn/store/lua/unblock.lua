-- Let a session be worked on again that is parked, held or too dense, with all its attempts.
-- a: op, incarnation
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

unpark()
lift()
set('held', 0)
local ring = ask()
save()
rung(ring)
event('unblocked', {request = num('request_no')})
return remember(reply('steered', {ring = ring, request_no = num('request_no')}))
