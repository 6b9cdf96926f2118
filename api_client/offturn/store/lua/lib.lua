-- The rules every session script shares; put in front of each of them. The protocol: docs/design.md.
-- ARGV[1] is the session's member in the due set, ARGV[2] the arguments as JSON; texts that may be large follow raw.
-- Integers stay below 10^14 (cjson writes 14 digits). Messages and payloads are never decoded here.
local META, LOG, OPS, IDS, EVENTS, CHUNKS, DUE, DEAD, OPSQ, CHUNKSQ, LIFE, SEEN, PACKS, MARKS, PACKING = unpack(KEYS)
local MEMBER, a = ARGV[1], cjson.decode(ARGV[2])
local OPS_KEPT, CHUNKS_KEPT, GENERATIONS_KEPT, EVENTS_KEPT = 128, 64, 16, 1000
local STRIKES, ENDS_KEPT, STARTS_KEPT, PHASES_KEPT, HOUR = 3, 6, 200, 50, 3600000
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
if s.v == 'archived' then return cjson.encode({kind = 'archived'}) end -- older releases: an unknown version
if s.v and s.v ~= '1' and s.v ~= '2' then return cjson.encode({kind = 'unknown-version', v = s.v}) end

local changed, unparked, written, newborn = {}, false, false, false
local was_current = tonumber(s.current) or 0

local numbers = {} -- fields of `s` as they were read

-- `num` and `set` are values, which the functions behind them find sooner: see store/scripts.py
local num = function(field)
  local value = numbers[field]
  if not value then
    value = tonumber(s[field]) or 0
    numbers[field] = value
  end
  return value
end

-- what stays as it was is not written again: each field is bytes of the append-only file
local set = function(field, value)
  if type(value) == 'number' then value = string.format('%d', value) end
  if s[field] ~= value then s[field], changed[field], numbers[field] = value, value, nil end
end

local TENANT = string.sub(DUE, 1, -4) .. string.match(MEMBER, '^[^:]+') -- what its keys begin with

-- write-back sinks of the tenant are told of the session, at the earliest now; what they were told before counts no more
local function tell_sinks()
  for _, name in ipairs(redis.call('HKEYS', TENANT .. ':sinks')) do
    redis.call('ZADD', TENANT .. ':sink-' .. name, string.format('%d', now), MEMBER)
  end
end

-- what a tenant's sessions take, each counted as its log is, and what they may take
local USAGE, SIZES = TENANT .. ':usage', TENANT .. ':sizes'

local function account(bytes)
  local before = redis.call('HGET', SIZES, MEMBER)
  if tonumber(before or nil) == bytes then return end
  if not before then redis.call('SADD', string.sub(DUE, 1, -4) .. 'tenants', string.match(MEMBER, '^[^:]+')) end
  if bytes then
    redis.call('HSET', SIZES, MEMBER, string.format('%d', bytes))
  else
    redis.call('HDEL', SIZES, MEMBER)
  end
  redis.call('HINCRBY', USAGE, 'bytes', string.format('%d', (bytes or 0) - tonumber(before or 0)))
end

-- before any other write: a server out of memory, or one that lets this user do less, refuses its first one, and then
-- nothing was written
local function save()
  account(num('log_bytes'))
  set('updated', now)
  local pairs_ = {}
  for field, value in pairs(changed) do pairs_[#pairs_ + 1], pairs_[#pairs_ + 2] = field, value end
  if #pairs_ > 0 then redis.call('HSET', META, unpack(pairs_)) end -- none: a second write in one ms that says the same
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

-- The reply, and as it is kept: `[ms, reply]`. Older releases kept the reply alone.
local function once()
  local kept = alive() and redis.call('HGET', OPS, a.op)
  return kept and (string.match(kept, '^%[%d+,(.*)%]$') or kept), kept
end

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

-- the newest replies, as many as are kept, in less than twice their bytes; the newest stays, however large it is
local function forget()
  local rows, flat_ = {}, redis.call('HGETALL', OPS)
  for i = 1, #flat_, 2 do
    local at = tonumber(string.match(flat_[i + 1], '^%[(%d+),')) or 0
    rows[#rows + 1] = {flat_[i], flat_[i] == a.op and math.huge or at, #flat_[i + 1]}
  end
  table.sort(rows, function(x, y) return x[2] > y[2] end)
  local total, surplus = 0, {}
  for i, row in ipairs(rows) do
    total = total + row[3]
    if i > OPS_KEPT or (total > OPS_BYTES and i > 1) then surplus[#surplus + 1] = row[1] end
  end
  if #surplus > 0 then redis.call('HDEL', OPS, unpack(surplus)) end
  redis.call('UNLINK', OPSQ) -- their order, as older releases keep it
end

-- Forgotten are many at a time: an order kept beside the replies would be three more writes each.
local function remember(text)
  local kept = string.format('[%d,', now) .. text .. ']'
  redis.call('HSET', OPS, a.op, kept)
  written = true
  if redis.call('HLEN', OPS) > 2 * OPS_KEPT or #text > OPS_BYTES / OPS_KEPT then forget() end
  return text, kept
end

-- lives, leases, views

local function gone(incarnation) return not alive() or incarnation ~= num('incarnation') end

local function holds(claim) return num('fence') == claim.fence and s.token == claim.token end

local function leased() return num('leased_until') > now end

local function turn(nonce)
  local number = tonumber(string.match(s.revision, '^%d+')) + 1
  set('revision', string.format('%d:%s', number, nonce))
end

-- the log: its chain hash at n stands for entries 0 .. n-1. Those below `base` are packed: each pack has the name of its
-- first seq, and MARKS the chain hashes of all of them, 20 bytes each. The list begins with `base`.

local MARK = 20

local function hex(raw)
  return (string.gsub(raw, '.', function(byte) return string.format('%02x', string.byte(byte)) end))
end

local function marks(from, to) return redis.call('GETRANGE', MARKS, MARK * from, MARK * to - 1) end

local function hash_at(n)
  if n == num('log_len') then return s.chain end
  if n <= num('base') then return hex(marks(n - 1, n)) end
  local entry = redis.call('LINDEX', LOG, n - 1 - num('base'))
  return entry and string.sub(entry, 1, 40)
end

-- the list's entries of these seqs
local function listed(from, to) return redis.call('LRANGE', LOG, from - num('base'), to - 1 - num('base')) end

-- the packs that hold entries `from` .. `to` - 1, up to the one that reaches so many bytes: first seq, hashes, pack, ...
local function packed(from, to, bytes)
  local firsts, found, taken = {}, {}, 0
  for _, first in ipairs(redis.call('HKEYS', PACKS)) do firsts[#firsts + 1] = tonumber(first) end
  table.sort(firsts)
  for i, first in ipairs(firsts) do
    local stop = firsts[i + 1] or num('base')
    if stop > from and first < to and taken < bytes then
      local pack = redis.call('HGET', PACKS, first)
      found[#found + 1], found[#found + 2], found[#found + 3] = first, marks(first, stop), pack
      taken = taken + #pack
    end
  end
  return found
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
    for _, item in ipairs(listed(at, math.min(at + 20, length))) do total = total + #item end
    at = at + 20
  end
  return total
end

-- `more` bytes are going to be in the log, which then has this length
local function weigh(more, length)
  set('log_bytes', log_bytes() + more)
  set('measured', length)
  set('packable', length) -- a release that cannot read packs leaves it behind
end

local function full(more) return num('quota') > 0 and log_bytes() + more > num('quota') end

local function overfull(more) return reply('full', {bytes = log_bytes(), more = more, quota = num('quota')}) end

-- the tenant's refusal of `more` bytes, or of one more session, if there is one
local function overdrawn(more)
  local quota = redis.call('HMGET', USAGE, 'quota_bytes', 'quota_sessions', 'bytes')
  if quota[1] and more > 0 then
    local bytes = tonumber(quota[3] or 0) - tonumber(redis.call('HGET', SIZES, MEMBER) or 0) + log_bytes()
    if bytes + more > tonumber(quota[1]) then
      return reply('full', {bytes = bytes, more = more, quota = tonumber(quota[1]), of = 'tenant-bytes'})
    end
  end
  if quota[2] and newborn then
    local sessions = redis.call('HLEN', SIZES) - redis.call('HEXISTS', SIZES, MEMBER)
    if sessions >= tonumber(quota[2]) then
      return reply('full', {bytes = sessions, more = 1, quota = tonumber(quota[2]), of = 'tenant-sessions'})
    end
  end
end

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

-- ends of phases that no generation tells of yet, oldest first; the newest are kept
local function mark_phases(phases)
  while #phases > PHASES_KEPT do table.remove(phases, 1) end
  set('phases', ranges_json(phases))
end

local function linked(n, hash) return n == 0 or (n <= num('log_len') and hash_at(n) == hash) end

-- generations

local function gen(number)
  local text = number ~= 0 and s['g:' .. number]
  return text and cjson.decode(text) or nil
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
  local names = {META, LOG, OPS, IDS, EVENTS, CHUNKS, OPSQ, CHUNKSQ, PACKS, MARKS}
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
