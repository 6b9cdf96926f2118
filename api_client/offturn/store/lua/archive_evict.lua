-- A session is in the archive now, and what was written there is what is here: all of it goes but a stub, whose version
-- every release without an archive refuses. lib.lua is not in front.
-- KEYS: meta, due, archived, trash, packing, then the session's other keys. ARGV: member, a as JSON {object, registered,
-- sizes (of KEYS[6..]), incarnation, messages, bytes, sha}, then meta as it was written there: field, value, ...
local META, DUE, ARCHIVED, TRASH, PACKING = unpack(KEYS, 1, 5)
local MEMBER, a = ARGV[1], cjson.decode(ARGV[2])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local sizes = {list = 'LLEN', hash = 'HLEN', stream = 'XLEN', string = 'STRLEN'}
local function size(name)
  local command = sizes[redis.call('TYPE', name).ok]
  return command and redis.call(command, name) or 0
end

local state, flat = {}, redis.call('HGETALL', META)
for i = 1, #flat, 2 do state[flat[i]] = flat[i + 1] end
if #flat ~= #ARGV - 2 then return 'changed' end
for i = 3, #ARGV, 2 do
  if state[ARGV[i]] ~= ARGV[i + 1] then return 'changed' end
end
for i = 6, #KEYS do
  if size(KEYS[i]) ~= a.sizes[i - 5] then return 'changed' end
end
if state.alive ~= '1' then return 'gone' end
if (tonumber(state.leased_until) or 0) > now then return 'running' end
if redis.call('ZSCORE', DUE, MEMBER) then return 'due' end
-- whoever deletes objects puts this one off first
if tonumber(redis.call('ZSCORE', TRASH, a.object) or 0) ~= a.registered then return 'late' end

local ttl = redis.call('PTTL', META)
for i = 6, #KEYS do redis.call('UNLINK', KEYS[i]) end
redis.call('UNLINK', META)
redis.call('HSET', META, 'v', 'archived', 'alive', 0, 'incarnation', a.incarnation, 'object', a.object,
  'at', string.format('%d', now), 'messages', a.messages, 'bytes', string.format('%d', a.bytes), 'sha', a.sha)
if ttl > 0 then redis.call('PEXPIRE', META, ttl) end
local tenant = string.sub(DUE, 1, -4) .. string.match(MEMBER, '^[^:]+')
local former = redis.call('HGET', ARCHIVED, MEMBER) -- of a life that has expired since; nobody else would find its object
local read, entry = pcall(cjson.decode, former or '')
if read and type(entry) == 'table' and type(entry.object) == 'string' and tonumber(entry.bytes) then
  redis.call('ZADD', TRASH, string.format('%d', now), entry.object)
  redis.call('HINCRBY', tenant .. ':usage', 'archived_bytes', string.format('%d', -tonumber(entry.bytes)))
  redis.call('HINCRBY', tenant .. ':usage', 'archived_sessions', -1)
end
redis.call('HSET', ARCHIVED, MEMBER, string.format(
  '{"object":%s,"at":%d,"bytes":%d,"messages":%d}', cjson.encode(a.object), now, a.bytes, a.messages))
redis.call('ZREM', TRASH, a.object)
redis.call('ZREM', PACKING, MEMBER)

-- what is in the archive counts apart
local counted = redis.call('HGET', tenant .. ':sizes', MEMBER)
redis.call('HDEL', tenant .. ':sizes', MEMBER)
redis.call('HINCRBY', tenant .. ':usage', 'bytes', -tonumber(counted or 0))
redis.call('HINCRBY', tenant .. ':usage', 'archived_bytes', a.bytes)
redis.call('HINCRBY', tenant .. ':usage', 'archived_sessions', 1)
return 'archived'
