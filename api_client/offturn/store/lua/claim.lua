-- Take a due session. Attempts count here, so that a session that kills its workers is parked.
-- a: token, lease_ms, max_attempts, worker?, hourly? (automatic compactions an hour)
if not alive() then unlist() end
if not alive() or not due() then return reply('idle') end
if leased() then
  due_now()
  return reply('busy', {remaining_ms = num('leased_until') - now})
end
local asked = num('asked') > num('served')
local step = not asked and stepping()
local recent = starts()
local hourly = math.min(a.hourly or math.huge, num('hourly') > 0 and num('hourly') or math.huge)
local free = #recent > 0 and recent[#recent] + num('interval') or now
if #recent >= hourly then free = math.max(free, recent[#recent - hourly + 1] + HOUR) end
if not asked and not step and free > now then
  set_due(free)
  return reply('limited', {remaining_ms = free - now})
end

local waited = math.max(0, now - score())
local died = num('attempts') > 0 and s.token ~= '' -- nobody released the claim before
if died then ended('died', s.worker or '') end
if num('attempts') >= a.max_attempts then
  set('parked', 1)
  set('served', num('request_no'))
  save()
  clear_due()
  local ends = (s.ends or '') ~= '' and s.ends or '[]'
  redis.call('HSET', DEAD, MEMBER, string.format(
    '{"at":%d,"reason":"attempts","attempts":%d,"ends":%s}', now, num('attempts'), ends))
  event('parked', {reason = 'attempts', attempts = num('attempts')})
  return reply('parked')
end
judge()
if blocked() then
  save()
  clear_due()
  opened()
  return reply('blocked')
end

set('token', a.token)
set('worker', a.worker or '')
set('fence', num('fence') + 1)
set('leased_until', now + a.lease_ms)
set('attempts', num('attempts') + 1)
set('automatic', asked and 0 or step and 2 or 1)
set('begun', num('path_tokens'))
local automatic = requirement() == 'none' and not step and silent() and 'idle' or 'threshold'
set('doze', 0)
set('quiet', 0)
save()
due_now()
event('claimed', {request = num('request_no'), fence = num('fence'), attempts = num('attempts')})
return reply('claimed', {
  incarnation = num('incarnation'), epoch = s.epoch, fence = num('fence'), token = a.token,
  request_no = num('request_no'), attempts = num('attempts'), failures = num('failures'),
  redactions = num('redactions'), reason = asked and s.reason or automatic,
  focus = asked and s.focus or '', note = asked and s.note or '', phases = cjson.decode(s.phases or '[]'),
  waited_ms = waited, died = died,
})
