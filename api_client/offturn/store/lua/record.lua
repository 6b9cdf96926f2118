-- Append messages. Checks in this order: once, life, redactions, acknowledged tail, log complete, expected length, ids, orphan results,
-- quota, the tenant's quota.
-- a: op, incarnation, redactions, tail_length, tail_chain, expect?, entries {digest, tokens, calls?, results?, id?}, config?
--    (of a caller that knows no messages: the session may begin), limits? {ttl, quota, too_dense}, calibration?, thresholds?,
--    pace?, phases?, usage?; ARGV[3..] are the entries' envelopes.
-- Its reply is kept for each record, so it is short: numbers and no names, as store/replies.py reads them; without the
-- chain hash, which the log has.
local DIGEST, TOKENS, CALLS, RESULTS, ID = 1, 2, 3, 4, 5
local MOST = 1000 -- values of one command: Lua's stack has an end

local known, kept = once()
if known then
  local length = cjson.decode(known)[3]
  return length and {kept, length > 0 and hash_at(length) or '', 0} or known
end

local live = alive()
local incarnation = num('incarnation') + (live and 0 or 1)
if a.incarnation ~= incarnation then return reply('gone') end
if live and a.redactions ~= num('redactions') then return reply('moved') end -- its tail's hash cannot be compared
local length = live and num('log_len') or 0
if not linked(a.tail_length, a.tail_chain) then return reply('behind', {length = length, chain = s.chain or ''}) end
-- a log that lacks messages in its middle or at its end would take these and give none of them back
local base = num('base')
local whole = base == 0 or (redis.call('STRLEN', MARKS) == MARK * base and redis.call('EXISTS', PACKS) == 1)
local held = redis.call('LLEN', LOG) + (whole and base or 0)
if live and held ~= length then return reply('torn', {held = held, length = length}) end
if a.expect and a.expect ~= length then return reply('unexpected', {length = length}) end

-- an id names one message of the path: one that has left it may come again
local shown = cjson.decode(live and s.path or '[]')
local seqs, fresh, ids = {}, {}, {}
for i, entry in ipairs(a.entries) do
  local id = entry[ID]
  local found = id and (ids[id] or redis.call('HGET', IDS, id))
  local seq, digest
  if found then seq, digest = string.match(found, '^(%d+):([%x-]+)$') end
  if seq and (ids[id] or on(shown, tonumber(seq))) then
    if digest ~= entry[DIGEST] and digest ~= FORGOTTEN then return reply('duplicate', {index = i - 1, host_id = id}) end
    seqs[i] = tonumber(seq)
  else
    seqs[i] = length + #fresh
    fresh[#fresh + 1] = i
    if id then ids[id] = string.format('%d:%s', seqs[i], entry[DIGEST]) end
  end
end

local open -- where one of them has to do with calls, or there is nothing yet
for _, i in ipairs(fresh) do
  local calls, results = a.entries[i][CALLS], a.entries[i][RESULTS]
  if calls then
    open = open or cjson.decode(live and s.open or '{}')
    for _, call in ipairs(results or {}) do
      local waiting = open[call]
      if not waiting then return reply('orphan', {index = i - 1, call_id = call}) end
      open[call] = waiting > 1 and waiting - 1 or nil
    end
    for _, call in ipairs(calls) do open[call] = (open[call] or 0) + 1 end
  end
end

if not live then
  s, numbers, newborn = {}, {}, true
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
  if a.phases then mark_phases(a.phases) end -- of a copy: the generations that tell of them are not copied
end
if a.calibration then set('calibration', a.calibration) end
if a.thresholds then
  set('soft', a.thresholds[1])
  set('hard', a.thresholds[2])
  set('growth', a.thresholds[3])
end
if a.pace then paced(a.pace) end

local chain, tokens, lines, bytes = s.chain, num('path_tokens'), {}, 0
local stamp = string.format(' %d ', now)
for n, i in ipairs(fresh) do
  local entry = a.entries[i]
  chain = redis.sha1hex(chain .. entry[DIGEST])
  tokens = tokens + entry[TOKENS]
  lines[n] = chain .. stamp .. ARGV[2 + i]
  bytes = bytes + #lines[n]
end
if bytes > 0 and full(bytes) then return overfull(bytes) end
local refused = overdrawn(bytes)
if refused then return refused end
local path = shown
if #fresh > 0 then
  local last = path[#path]
  if last and last[2] == length then last[2] = length + #fresh else path[#path + 1] = {length, length + #fresh} end
end
weigh(bytes, length + #fresh)
set('log_len', length + #fresh)
set('chain', chain)
set('path', ranges_json(path))
set('path_tokens', tokens)
if open or not s.open then set('open', cjson.encode(open or {})) end
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
for i = 1, #lines, MOST do redis.call('RPUSH', LOG, unpack(lines, i, math.min(i + MOST - 1, #lines))) end
local places = {}
for id, place in pairs(ids) do places[#places + 1], places[#places + 2] = id, place end
for i = 1, #places, MOST do redis.call('HSET', IDS, unpack(places, i, math.min(i + MOST - 1, #places))) end
rung(ring)
if dozes then set_due(num('doze')) elseif broken and not ring then clear_due() end
if a.usage then
  local usage = cjson.decode(a.usage)
  usage.seq = length  -- of the first message after the call
  event('usage', usage)
end

local levels = {none = 0, soft = 1, hard = 2}
local flags = levels[requirement()] + (due() and 4 or 0) + (ring and 8 or 0)
-- cjson takes four times as long for a number
local done = string.format('[%d,%d,%d,%s,%d,%d,%d,%d,%d,%d,%s,%s', incarnation, length, length + #fresh, s.path, tokens,
  pressure(), flags, num('request_no'), num('current'), num('adopted'), cjson.encode(s.revision), cjson.encode(s.epoch))
local skipped = #fresh < #seqs
if skipped or blocked() then done = done .. ',' .. cjson.encode(s.blocked or '') end
if skipped then done = done .. ',' .. cjson.encode(seqs) end
local _, answer = remember(done .. ']')
return {answer, chain, unattended() and 1 or 0} -- which is true of this moment only
