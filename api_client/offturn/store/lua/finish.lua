-- Release a lease and recompute due from the session's state, in one step. The outcome only adds a hold.
-- a: claim {incarnation, fence, token, request_no}, outcome, backoff_ms, detail
if gone(a.claim.incarnation) then return reply('gone') end
if not holds(a.claim) then return reply('refused', {why = 'fence'}) end

-- a full server has to let go of a session: what frees room comes first, and a script that began so goes on
redis.call('HDEL', META, 'token')
set('leased_until', 0)
set('token', '')
if a.outcome == 'no-gain' then
  hold()
elseif a.outcome == 'deferred' then
  set('attempts', math.max(num('attempts') - 1, 0))
elseif a.outcome ~= 'failed' then
  unpark()
end
local stays = a.outcome == 'failed' or a.outcome == 'deferred'
if not stays and a.outcome ~= 'superseded' then
  set('served', math.max(num('served'), a.claim.request_no))
end
save()

local pending
if stays then
  pending = due()
  if pending then set_due(now + a.backoff_ms) end
else
  pending = wanted()
  if pending then due_now() else clear_due() end
end
local told = {outcome = a.outcome, request = a.claim.request_no, served = num('served'), due = pending}
for field, value in pairs(a.detail) do told[field] = value end
event('finished', told)
return reply('finished', {
  due = pending, request_no = num('request_no'),
  ring = pending and not stays and num('request_no') > a.claim.request_no,
})
