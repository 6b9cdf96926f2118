-- The rules every session script shares; put in front of each of them. The protocol: docs/design.md.
-- ARGV[1] is the session's member in the due set, ARGV[2] the arguments as JSON; texts that may be large follow raw.
-- Integers stay below 10^14 (cjson writes 14 digits). Messages and payloads are never decoded here.
local META, LOG, OPS, IDS, EVENTS, CHUNKS, DUE, DEAD, OPSQ, CHUNKSQ, LIFE, SEEN = unpack(KEYS)
local MEMBER, a = ARGV[1], cjson.decode(ARGV[2])
local OPS_KEPT, CHUNKS_KEPT, GENERATIONS_KEPT, EVENTS_KEPT = 128, 64, 16, 1000
local STRIKES, ENDS_KEPT, STARTS_KEPT, HOUR = 3, 6, 200, 3600000
local OPS_BYTES, CHUNKS_BYTES = 1048576, 4194304
local LIFE_KEPT = 7 * 24 * 3600 * 1000 -- ms that the number of a life outlasts a session that expired
local GRACE_MS = 10000 -- what is due that long should have been begun
local NEVER = 10 ^ 13 -- a threshold nothing reaches
local FORGOTTEN = '-' -- stands for the digest of a redacted message: its id may come again, with whatever content

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local s = {}
local flat = redis.call('HGETALL', META)
for i = 1, #flat, 2 do s[flat[i]] = flat[i + 1] end
if #flat == 0 then s.incarnation = redis.call('GET', LIFE) or nil end
if s.v and s.v ~= '1' then return cjson.encode({kind = 'unknown-version', v = s.v}) end

local changed, unparked, written, newborn = {}, false, false, false
local was_current = tonumber(s.current) or 0

local function num(field) return tonumber(s[field]) or 0 end

local function set(field, value)
  if type(value) == 'number' then value = string.format('%d', value) end
  s[field], changed[field] = value, value
end

-- write-back sinks of the tenant are told of the session, at the earliest now; what they were told before counts no more
local function tell_sinks()
  local tenant = string.sub(DUE, 1, -4) .. string.match(MEMBER, '^[^:]+')
  for _, name in ipairs(redis.call('HKEYS', tenant .. ':sinks')) do
    redis.call('ZADD', tenant .. ':sink-' .. name, string.format('%d', now), MEMBER)
  end
end

-- before any other write: a server out of memory refuses this one, and then nothing was written
local function save()
  set('updated', now)
  local pairs_ = {}
  for field, value in pairs(changed) do pairs_[#pairs_ + 1], pairs_[#pairs_ + 2] = field, value end
  redis.call('HSET', META, unpack(pairs_))
  written = true
  if num('current') ~= was_current then tell_sinks() end
  if unparked then redis.call('HDEL', DEAD, MEMBER) end
end

-- ids, names and sizes, never content
local function event(kind, fields)
  return redis.call('XADD', EVENTS, 'MAXLEN', '~', EVENTS_KEPT, '*', 'kind', kind, 'fields', cjson.encode(fields))
end

local function reply(kind, fields)
  fields = fields or {}
  fields.kind = kind
  return cjson.encode(fields)
end

-- cjson writes an empty table as an object
local function ranges_json(ranges) return #ranges == 0 and '[]' or cjson.encode(ranges) end

-- operations: a known one is answered before any other check

local function alive() return s.alive == '1' end

local function once() return alive() and redis.call('HGET', OPS, a.op) end

-- the newest `count` fields, in less than twice `bytes`; the newest stays, however large it is
local function keep(hash, queue, field, value, count, bytes)
  redis.call('HSET', hash, field, value)
  written = true
  redis.call('LREM', queue, 0, field)
  local length = redis.call('RPUSH', queue, field)
  local surplus = length - count
  if #value > bytes / count then
    local total, fields = 0, redis.call('LRANGE', queue, 0, -1)
    for i = length, 1, -1 do
      total = total + redis.call('HSTRLEN', hash, fields[i])
      if total > bytes and i < length then
        surplus = math.max(surplus, i)
        break
      end
    end
  end
  for _ = 1, surplus do redis.call('HDEL', hash, redis.call('LPOP', queue)) end
end

local function remember(text)
  keep(OPS, OPSQ, a.op, text, OPS_KEPT, OPS_BYTES)
  return text
end

-- lives, leases, views

local function gone(incarnation) return not alive() or incarnation ~= num('incarnation') end

local function holds(claim) return num('fence') == claim.fence and s.token == claim.token end

local function leased() return num('leased_until') > now end

local function turn(nonce)
  local number = tonumber(string.match(s.revision, '^%d+')) + 1
  set('revision', string.format('%d:%s', number, nonce))
end

-- the log: its chain hash at n stands for entries 0 .. n-1

local function hash_at(n)
  if n == num('log_len') then return s.chain end
  local entry = redis.call('LINDEX', LOG, n - 1)
  return entry and string.sub(entry, 1, 40)
end

-- of the server; -1 where it may not be asked
local function replicas()
  local info = redis.pcall('INFO', 'replication')
  return type(info) == 'string' and tonumber(string.match(info, 'connected_slaves:(%d+)')) or -1
end

-- bytes of the log's items. A release that does not count them leaves the rest to this one
local function log_bytes()
  local total, at, length = num('log_bytes'), num('measured'), num('log_len')
  while at < length do
    for _, item in ipairs(redis.call('LRANGE', LOG, at, at + 19)) do total = total + #item end
    at = at + 20
  end
  return total
end

-- `more` bytes are going to be in the log, which then has this length
local function weigh(more, length)
  set('log_bytes', log_bytes() + more)
  set('measured', length)
end

local function full(more) return num('quota') > 0 and log_bytes() + more > num('quota') end

local function overfull(more) return reply('full', {bytes = log_bytes(), more = more, quota = num('quota')}) end

local function bounded(limits)
  set('ttl', limits[1])
  set('quota', limits[2])
  if limits[3] then set('too_dense', limits[3]) end -- a release that knows no such limit sends none
end

-- how often automatic work may start, after what silence it starts by itself, and from what size on in steps
local function paced(pace)
  set('hourly', pace[1])
  set('interval', pace[2])
  set('idle_ms', pace[3])
  set('idle_floor', pace[4])
  set('step', pace[5] or 0)
end

local function linked(n, hash) return n == 0 or (n <= num('log_len') and hash_at(n) == hash) end

-- generations

local function gen(number)
  local text = s['g:' .. number]
  return text and cjson.decode(text)
end

local function covered(number)
  local g = gen(number)
  return g and g.covered or {}
end

-- is every seq of x in y? both sorted, half-open
local function inside(x, y)
  local j = 1
  for _, range in ipairs(x) do
    local low = range[1]
    while low < range[2] do
      while y[j] and y[j][2] <= low do j = j + 1 end
      if not y[j] or y[j][1] > low then return false end
      low = y[j][2]
    end
  end
  return true
end

-- is the current generation the base, or reached from it only through provisional ones?
local function reached(base)
  local number = num('current')
  while number ~= base do
    local g = gen(number)
    if not g or not g.provisional then return false end
    number = g.replaces
  end
  return true
end

local function payload(number) return string.sub(META, 1, -5) .. 'gen:' .. number end

local function there(number) return gen(number) and redis.call('EXISTS', payload(number)) == 1 end

-- all keys of a session with a TTL end at one instant; only the number of its life stays longer, so that nothing of this
-- life can write into the next one
local function prolong()
  local ttl = num('ttl')
  if ttl == 0 and redis.call('PTTL', META) < 0 then return end
  local names = {META, LOG, OPS, IDS, EVENTS, CHUNKS, OPSQ, CHUNKSQ}
  for field in pairs(s) do
    local number = string.match(field, '^g:(%d+)$')
    if number then names[#names + 1] = payload(number) end
  end
  for _, name in ipairs(names) do
    if ttl == 0 then redis.call('PERSIST', name) else redis.call('PEXPIREAT', name, now + ttl) end
  end
  if ttl > 0 then redis.call('SET', LIFE, num('incarnation'), 'PX', ttl + LIFE_KEPT) end
end

-- the path: ranges in the order shown, which is not that of their seqs where a message was replaced

local function sorted(ranges)
  local copy = {}
  for i, range in ipairs(ranges) do copy[i] = range end
  table.sort(copy, function(x, y) return x[1] < y[1] end)
  return copy
end

local function on(path, seq)
  for _, range in ipairs(path) do
    if range[1] <= seq and seq < range[2] then return true end
  end
  return false
end

-- the one trigger rule

local function pressure()
  local g = gen(num('current'))
  if not g then return num('path_tokens') end
  return g.tokens_after + num('path_tokens') - g.at_tokens
end

local function requirement()
  local size = pressure()
  if size >= num('hard') then return 'hard' end
  if size >= num('soft') and num('path_tokens') >= num('held') then return 'soft' end
  return 'none'
end

-- open while it holds a sentence for people
local function blocked() return (s.blocked or '') ~= '' end

-- did a job find nothing to gain in the very path there is? until it grows, another would end the same way
local function tried() return num('tried') > 0 and num('tried') == num('path_tokens') end

-- below the soft level: has the path grown by a step since the last look? what steps prune costs nobody anything
local function stepping()
  return requirement() == 'none' and num('step') > 0 and pressure() >= num('step') and num('path_tokens') >= num('stepped')
end

local function wanted()
  if num('asked') > num('served') then return true end
  if s.parked == '1' or blocked() then return false end
  local level = requirement()
  return level == 'soft' or (level == 'hard' and not tried()) or stepping()
end

local function hold() set('held', num('path_tokens') + num('growth')) end

-- the too-dense breaker: so many compactions in a row that made no room; no job starts until somebody lifts it

-- sizes as a provider counts whole requests, where usage has taught that; of an estimate else
local function sizes()
  local known = (s.calibration or '') ~= '' and cjson.decode(s.calibration) or {}
  local factor, apart = known.factor or 1, known.overhead or 0
  local function real(size) return apart + math.ceil(factor * size - 0.000001) end
  if apart == 0 then
    return string.format('Its messages take about %d tokens, compaction starts at %d.', real(pressure()), real(num('soft')))
  elseif num('soft') <= 1 then -- the level is below what the messages can be made to take
    return string.format('The system prompt and the tools alone take about %d tokens of each request, more than the ' ..
      'level at which compaction starts: make them smaller, or give a larger window or a higher level. Its messages ' ..
      'take about %d tokens more.', apart, real(pressure()) - apart)
  end
  return string.format('Its requests take about %d tokens, about %d of them for the system prompt and the tools; ' ..
    'compaction starts at %d.', real(pressure()), apart, real(num('soft')))
end

local function strike()
  set('strikes', num('strikes') + 1)
  if num('strikes') < (num('too_dense') > 0 and num('too_dense') or STRIKES) then return end
  set('served', num('request_no'))
  set('blocked', string.format(
    'This conversation cannot be made shorter: %d compactions in a row made no room. %s It goes on, but older parts ' ..
    'may be left out of what the model sees.', num('strikes'), sizes()))
end

-- did the compaction before make room? not, if the view is at the hard level again and the path has hardly grown
local function judge()
  if (s.trial or '') == '' then return end
  local grown = num('path_tokens') - num('trial')
  set('trial', '')
  if pressure() >= num('hard') and grown < num('growth') then strike() else set('strikes', 0) end
end

local function lift()
  set('strikes', 0)
  set('trial', '')
  set('blocked', '')
  set('tried', 0)
end

local function opened()
  event('blocked', {strikes = num('strikes'), tokens = pressure(), soft = num('soft'), sentence = s.blocked})
end

-- due

local function score() return not newborn and tonumber(redis.call('ZSCORE', DUE, MEMBER) or nil) end

-- in the set only for the end of a silence? also one that has ended, and whose job a limit has put off
local function silent()
  local at, doze = score(), num('doze')
  return doze > 0 and at and (at == doze or doze <= now)
end

local function due() return (score() or false) and not (silent() and num('doze') > now) end

local function set_due(score) redis.call('ZADD', DUE, string.format('%d', score), MEMBER) end

-- a session in a worker's hands is looked at again when its lease ends
local function due_now() set_due(leased() and num('leased_until') or now) end

local function clear_due() redis.call('ZREM', DUE, MEMBER) end

local function wipe()
  if redis.call('EXISTS', LOG) == 1 then -- only the state has expired, and with it which generations there were
    for number = 1, 16 * GENERATIONS_KEPT do redis.call('UNLINK', payload(number)) end
  end
  redis.call('UNLINK', LOG, OPS, IDS, EVENTS, CHUNKS, OPSQ, CHUNKSQ)
end

-- out of the shard's lists; a session that expired could not do it itself
local function unlist()
  clear_due()
  redis.call('HDEL', DEAD, MEMBER)
end

local function due_as_wanted()
  if not wanted() then
    clear_due()
  elseif not due() then
    due_now()
  end
end

-- due for a while, and no worker there
local function unattended()
  local score = redis.call('ZSCORE', DUE, MEMBER)
  return score ~= false and tonumber(score) + GRACE_MS < now and redis.call('EXISTS', SEEN) == 0
end

local function unpark()
  unparked = s.parked == '1'
  set('attempts', 0)
  set('failures', 0)
  set('ends', '')
  set('parked', 0)
end

-- how a job ended that counts as an attempt: what a parked session tells about itself
local function ended(kind, worker)
  local ends = (s.ends or '') ~= '' and cjson.decode(s.ends) or {}
  ends[#ends + 1] = {kind = kind, at = now, worker = worker}
  if #ends > ENDS_KEPT then table.remove(ends, 1) end
  set('ends', cjson.encode(ends))
end

-- when the automatic compactions of the last hour ended, oldest first
local function starts()
  local recent = {}
  for _, at in ipairs((s.starts or '') ~= '' and cjson.decode(s.starts) or {}) do
    if at > now - HOUR then recent[#recent + 1] = at end
  end
  return recent
end

-- does work that nobody was asked for become wanted? then it gets a number; true: set due and ring the bell
-- broken: whatever silence the session is due for has just ended
local function ask(broken)
  if (due() and not broken) or not wanted() then return false end
  set('request_no', num('request_no') + 1)
  return true
end

-- after `save()`: a server out of memory must not be left with a due session that nothing was written of
local function rung(ring)
  if not ring then return end
  due_now()
  event('due', {request = num('request_no'), requirement = requirement(), seq = num('log_len') - 1})
end
