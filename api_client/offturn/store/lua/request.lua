-- Ask for a compaction whatever the pressure; takes a parked session out of its place. One that is too dense answers at
-- once that nothing will come of it.
-- a: op, incarnation, reason, focus, note, brief (its first line, of a phase)
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

set('request_no', num('request_no') + 1)
set('asked', num('request_no'))
if a.reason == 'phase' then -- each stays until a generation tells of it
  local phases = cjson.decode(s.phases or '[]')
  phases[#phases + 1] = {request = num('request_no'), seq = num('log_len') - 1, note = a.brief}
  mark_phases(phases)
end
if blocked() then
  set('served', num('request_no'))
  save()
  local number = num('request_no')
  event('finished', {outcome = 'skipped', reason = 'blocked', request = number, served = number, due = false})
  return remember(reply('requested', {request_no = number, ring = false}))
end
set('reason', a.reason)
set('focus', a.focus)
set('note', a.note)
unpark()
save()
due_now()
event('due', {request = num('request_no'), reason = a.reason})
return remember(reply('requested', {request_no = num('request_no'), ring = true}))
