-- Append messages. Checks in this order: once, life, redactions, acknowledged tail, log complete, expected length, ids, orphan results,
-- quota.
-- a: op, incarnation, redactions, tail_length, tail_chain, expect?, entries {digest, tokens, id?, calls, results}, config,
--    limits? {ttl, quota, too_dense}, calibration?, thresholds?, pace?, usage?; ARGV[3..] are the entries' envelopes.
local known = once()
if known then return known end

local live = alive()
local incarnation = num('incarnation') + (live and 0 or 1)
if a.incarnation ~= incarnation then return reply('gone') end
if live and a.redactions ~= num('redactions') then return reply('moved') end -- its tail's hash cannot be compared
local length = live and num('log_len') or 0
if not linked(a.tail_length, a.tail_chain) then return reply('behind', {length = length, chain = s.chain or ''}) end
-- a log that lacks messages in its middle or at its end would take these and give none of them back
local held = redis.call('LLEN', LOG)
if live and held ~= length then return reply('torn', {held = held, length = length}) end
if a.expect and a.expect ~= length then return reply('unexpected', {length = length}) end

-- an id names one message of the path: one that has left it may come again
local shown = cjson.decode(live and s.path or '[]')
local seqs, fresh, ids = {}, {}, {}
for i, entry in ipairs(a.entries) do
  local found = entry.id and (ids[entry.id] or redis.call('HGET', IDS, entry.id))
  local seq, digest = string.match(found or '', '^(%d+):([%x-]+)$')
  if seq and (ids[entry.id] or on(shown, tonumber(seq))) then
    if digest ~= entry.digest and digest ~= FORGOTTEN then return reply('duplicate', {index = i - 1, host_id = entry.id}) end
    seqs[i] = tonumber(seq)
  else
    seqs[i] = length + #fresh
    fresh[#fresh + 1] = i
    if entry.id then ids[entry.id] = string.format('%d:%s', seqs[i], entry.digest) end
  end
end

local open = cjson.decode(live and s.open or '{}')
for _, i in ipairs(fresh) do
  for _, call in ipairs(a.entries[i].results) do
    local waiting = open[call]
    if not waiting then return reply('orphan', {index = i - 1, call_id = call}) end
    open[call] = waiting > 1 and waiting - 1 or nil
  end
  for _, call in ipairs(a.entries[i].calls) do open[call] = (open[call] or 0) + 1 end
end

if not live then
  s, newborn = {}, true
  set('v', 1)
  set('incarnation', incarnation)
  set('alive', 1)
  set('epoch', a.op)
  set('revision', '0:')
  set('path', '[]')
  set('chain', '')
  set('config', a.config)
  set('soft', NEVER)
  set('hard', NEVER)
  set('created', now)
  if a.limits then bounded(a.limits) end
end
if a.calibration then set('calibration', a.calibration) end
if a.thresholds then
  set('soft', a.thresholds[1])
  set('hard', a.thresholds[2])
  set('growth', a.thresholds[3])
end
if a.pace then paced(a.pace) end

local chain, tokens, lines, bytes = s.chain, num('path_tokens'), {}, 0
for n, i in ipairs(fresh) do
  local entry = a.entries[i]
  chain = redis.sha1hex(chain .. entry.digest)
  tokens = tokens + entry.tokens
  lines[n] = string.format('%s %d ', chain, now) .. ARGV[2 + i]
  bytes = bytes + #lines[n]
end
if bytes > 0 and full(bytes) then return overfull(bytes) end
local path = cjson.decode(s.path)
if #fresh > 0 then
  local last = path[#path]
  if last and last[2] == length then last[2] = length + #fresh else path[#path + 1] = {length, length + #fresh} end
end
weigh(bytes, length + #fresh)
set('log_len', length + #fresh)
set('chain', chain)
set('path', ranges_json(path))
set('path_tokens', tokens)
set('open', cjson.encode(open))
local broken = #fresh > 0 and silent()
if broken then set('doze', 0) end
local ring = ask(broken)
local quiet = #fresh > 0 and not ring and num('idle_ms') > 0 and pressure() >= num('idle_floor')
local dozes = quiet and (broken or not due())
if dozes then set('doze', now + num('idle_ms')) elseif quiet and leased() then set('quiet', now + num('idle_ms')) end
save()
if newborn then
  -- begins on nothing: an expired life may have left something, above all where an older release took part in it
  wipe()
  unlist()
  newborn = false
end
for _, line in ipairs(lines) do redis.call('RPUSH', LOG, line) end
for id, place in pairs(ids) do redis.call('HSET', IDS, id, place) end
rung(ring)
if dozes then set_due(num('doze')) elseif broken and not ring then clear_due() end
if a.usage then
  local usage = cjson.decode(a.usage)
  usage.seq = length  -- of the first message after the call
  event('usage', usage)
end

local done = {
  incarnation = incarnation, first_seq = length, last_seq = length + #fresh - 1, seqs = seqs,
  length = length + #fresh, chain = chain, path = path, path_tokens = tokens, pressure = pressure(),
  requirement = requirement(), due = due(), ring = ring, request_no = num('request_no'),
  current = num('current'), adopted = num('adopted'), revision = s.revision, epoch = s.epoch,
  blocked = s.blocked or '', at = now,
}
remember(reply('recorded', done))
done.unattended = unattended() -- true of this moment only
return reply('recorded', done)
