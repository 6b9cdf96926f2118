-- Take a due session. Attempts count here, so that a session that kills its workers is parked.
-- a: token, lease_ms, max_attempts
if not alive() then unlist() end
if not alive() or not due() then return reply('idle') end
if leased() then
  due_now()
  return reply('busy', {remaining_ms = num('leased_until') - now})
end
if num('attempts') >= a.max_attempts then
  set('parked', 1)
  set('served', num('request_no'))
  save()
  clear_due()
  redis.call('HSET', DEAD, MEMBER, cjson.encode({at = now, reason = 'attempts', attempts = num('attempts')}))
  event('parked', {reason = 'attempts', attempts = num('attempts')})
  return reply('parked')
end

set('token', a.token)
set('fence', num('fence') + 1)
set('leased_until', now + a.lease_ms)
set('attempts', num('attempts') + 1)
save()
due_now()
event('claimed', {request = num('request_no'), fence = num('fence'), attempts = num('attempts')})
local asked = num('asked') > num('served')
return reply('claimed', {
  incarnation = num('incarnation'), epoch = s.epoch, fence = num('fence'), token = a.token,
  request_no = num('request_no'), attempts = num('attempts'), redactions = num('redactions'), reason = asked and s.reason or 'threshold',
  focus = asked and s.focus or '', note = asked and s.note or '',
})
