-- Release a lease and recompute due from the session's state, in one step. The outcome only adds a hold or a strike, and
-- not that of a job which found nothing to do in an epoch that is over: what is there now is something else.
-- a: claim {incarnation, epoch, fence, token, request_no}, outcome, backoff_ms, detail
if gone(a.claim.incarnation) then return reply('gone') end
if not holds(a.claim) then return reply('refused', {why = 'fence'}) end

-- tried again later: an attempt is given back where the session is not to blame
local outcome = a.outcome
local later = outcome == 'failed' or outcome == 'unavailable' or outcome == 'deferred'
local fruitless = outcome == 'skipped' or outcome == 'no-gain' or outcome == 'resting'
local past = fruitless and a.claim.epoch ~= s.epoch
if past then outcome = 'superseded' end
local struck = num('strikes')
-- a full server has to let go of a session: what frees room comes first, and a script that began so goes on
redis.call('HDEL', META, 'token')
set('leased_until', 0)
set('token', '')
if outcome == 'failed' then
  ended(a.detail.kind or outcome, a.detail.worker or '')
elseif later then
  set('attempts', math.max(0, num('attempts') - 1))
  if outcome == 'unavailable' then set('failures', num('failures') + 1) end
else
  unpark()
  if outcome ~= 'superseded' then set('served', math.max(num('served'), a.claim.request_no)) end
end
local step = s.automatic == '2'
if not later and outcome ~= 'superseded' then set('stepped', num('begun') + num('step')) end
local undone = outcome == 'no-gain' or outcome == 'resting'
if undone and not step then -- a step without gain says nothing of the levels above it
  local again = num('tried') > 0 and num('tried') == num('begun') -- on request: it says nothing new
  hold()
  set('tried', num('begun'))
  if outcome == 'no-gain' and not again and pressure() >= num('soft') then strike() end
elseif outcome == 'compacted' or outcome == 'pruned' then
  local g = gen(num('current'))
  set('trial', g and g.at_tokens or '')
  if s.automatic == '1' or (step and outcome == 'compacted') then
    local recent = starts()
    recent[#recent + 1] = now
    if #recent > STARTS_KEPT then table.remove(recent, 1) end
    set('starts', cjson.encode(recent))
  end
end
local pending
if later then pending = due() else pending = wanted() end
local rests = not later and not wanted()
-- a silence that began while the job ran, also one of a session that was not due any more
local silence = math.max(num('quiet'), num('doze'))
local dozes = rests and silence > 0 and pressure() >= num('idle_floor')
if dozes then set('doze', silence) end
if rests then set('served', num('request_no')) end -- no job comes any more for whoever waits
save()

if later then
  if pending then set_due(now + a.backoff_ms) end
elseif pending then
  due_now()
elseif dozes then
  set_due(num('doze'))
else
  clear_due()
end
local told = {outcome = outcome, request = a.claim.request_no, served = num('served'), due = pending}
for field, value in pairs(a.detail) do told[field] = value end
if past then told.outcome, told.reason = outcome, 'epoch' end
event('finished', told)
if blocked() and num('strikes') > struck then opened() end
return reply('finished', {
  due = pending, request_no = num('request_no'),
  ring = pending and not later and num('request_no') > a.claim.request_no,
})
