-- Withdraw open requests. A running job is superseded; due stays as far as the pressure wants it.
-- a: op, incarnation
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

set('served', num('request_no'))
set('epoch', a.op)
save()
due_as_wanted()
event('cancelled', {request = num('request_no')})
return remember(reply('steered', {ring = false, request_no = num('request_no')}))
