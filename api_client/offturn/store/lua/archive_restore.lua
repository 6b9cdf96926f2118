-- A session is back: what was read from the archive takes the place of the very stub it was read for, in one step. Its
-- object is deleted when a failover that loses this write is no longer to be feared. lib.lua is not in front.
-- KEYS: meta, due, archived, trash, packing, then in pairs a key that was filled and the one whose place it takes, meta first.
-- ARGV: member, a as JSON {object, sizes (of the filled ones), delay_ms}.
local META, DUE, ARCHIVED, TRASH, PACKING = unpack(KEYS, 1, 5)
local MEMBER, a = ARGV[1], cjson.decode(ARGV[2])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local sizes = {list = 'LLEN', hash = 'HLEN', stream = 'XLEN', string = 'STRLEN'}
local stub = redis.call('HMGET', META, 'v', 'object', 'bytes')
if stub[1] ~= 'archived' or stub[2] ~= a.object then return 'gone' end
for i = 6, #KEYS, 2 do
  local command = sizes[redis.call('TYPE', KEYS[i]).ok]
  if not command or redis.call(command, KEYS[i]) ~= a.sizes[(i - 4) / 2] then return 'late' end -- it has expired
end

local ttl = redis.call('PTTL', META)
for i = 6, #KEYS, 2 do
  redis.call('RENAME', KEYS[i], KEYS[i + 1])
  if ttl > 0 then redis.call('PEXPIRE', KEYS[i + 1], ttl) else redis.call('PERSIST', KEYS[i + 1]) end
end
redis.call('HSET', META, 'updated', string.format('%d', now)) -- else it would be idle again at once
redis.call('HDEL', ARCHIVED, MEMBER)
redis.call('ZADD', TRASH, string.format('%d', now + a.delay_ms), a.object)
redis.call('ZREM', DUE, MEMBER)

local tenant = string.sub(DUE, 1, -4) .. string.match(MEMBER, '^[^:]+')
local bytes = redis.call('HGET', META, 'log_bytes') or '0'
redis.call('HSET', tenant .. ':sizes', MEMBER, bytes)
redis.call('HINCRBY', tenant .. ':usage', 'bytes', bytes)
redis.call('HINCRBY', tenant .. ':usage', 'archived_bytes', -tonumber(stub[3]))
redis.call('HINCRBY', tenant .. ':usage', 'archived_sessions', -1)
-- what its compactions cover may not be packed yet, and a sink that began while it was away has not been told of it
if tonumber(redis.call('HGET', META, 'current') or 0) > 0 then
  redis.call('ZADD', PACKING, string.format('%d', now), MEMBER)
  for _, name in ipairs(redis.call('HKEYS', tenant .. ':sinks')) do
    redis.call('ZADD', tenant .. ':sink-' .. name, 'NX', string.format('%d', now), MEMBER)
  end
end
return 'restored'
