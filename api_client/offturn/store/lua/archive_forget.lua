-- Is an entry of the list of archived sessions still true? Else, mostly because the session's TTL has run out, its object is
-- deleted. lib.lua is not in front.
-- KEYS: meta, archived, trash, the tenant's usage. ARGV: member, object, its bytes.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local stub = redis.call('HMGET', KEYS[1], 'v', 'object')
if stub[1] == 'archived' and stub[2] == ARGV[2] then return 0 end
local read, entry = pcall(cjson.decode, redis.call('HGET', KEYS[2], ARGV[1]) or '')
if read and type(entry) == 'table' and entry.object == ARGV[2] then -- else it is of a later life by now
  redis.call('HDEL', KEYS[2], ARGV[1])
  redis.call('HINCRBY', KEYS[4], 'archived_bytes', -tonumber(ARGV[3]))
  redis.call('HINCRBY', KEYS[4], 'archived_sessions', -1)
end
redis.call('ZADD', KEYS[3], string.format('%d', now), ARGV[2])
return 1
