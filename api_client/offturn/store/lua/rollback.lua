-- Put an earlier generation in force, withdraw open requests and hold automatic triggers until the path has grown.
-- a: op, incarnation, target
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end
if a.target ~= 0 and not there(a.target) then return reply('refused', {why = 'target'}) end
if not inside(covered(a.target), sorted(cjson.decode(s.path))) then return reply('refused', {why = 'target'}) end

set('current', a.target)
set('adopted', a.target)
set('epoch', a.op)
turn(a.op)
hold()
set('stepped', num('held'))
lift()
set('served', num('request_no'))
save()
due_as_wanted()
event('rolled-back', {generation = a.target})
return remember(reply('rolled-back', {revision = s.revision}))
