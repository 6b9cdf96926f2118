-- Withdraw open requests. A running job is superseded; due stays as far as the pressure wants it.
-- a: op, incarnation, hold? (automatic work waits too: for growth, at the hard level for the next message)
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

set('served', num('request_no'))
set('epoch', a.op)
if a.hold then
  hold()
  set('stepped', num('held'))
  set('tried', num('path_tokens'))
end
save()
due_as_wanted()
event('cancelled', {request = num('request_no')})
return remember(reply('steered', {ring = false, request_no = num('request_no')}))
