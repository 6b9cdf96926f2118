-- Is a session that is counted for a tenant still there? Else, mostly because its TTL has run out, it counts no more. lib.lua is
-- not in front.
-- KEYS: meta, the tenant's sizes, the tenant's usage. ARGV: member. Returns whether it was forgotten.
local state = redis.call('HMGET', KEYS[1], 'v', 'alive')
if state[1] ~= 'archived' and state[2] == '1' then return 0 end
local bytes = redis.call('HGET', KEYS[2], ARGV[1])
if not bytes then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HINCRBY', KEYS[3], 'bytes', -tonumber(bytes))
return 1
