-- Ask for a compaction whatever the pressure; takes a parked session out of its place.
-- a: op, incarnation, reason, focus, note
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

set('request_no', num('request_no') + 1)
set('asked', num('request_no'))
set('reason', a.reason)
set('focus', a.focus)
set('note', a.note)
unpark()
save()
due_now()
event('due', {request = num('request_no'), reason = a.reason})
return remember(reply('requested', {request_no = num('request_no')}))
