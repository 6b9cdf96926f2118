-- Sessions that a sink has to be told of (or that have to be packed), put off for the length of a lease, so that nobody else takes them meanwhile.
-- KEYS: the sink's sessions. ARGV: lease_ms, limit, age_ms: how long they have waited at least. Returns member, the score it has now, ...
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

redis.call('ZREM', KEYS[1], '') -- a full server lets a script that began so go on: packing is what frees room

-- half a millisecond tells this score from that of a new generation, which is whole
local latest = string.format('%d', now - tonumber(ARGV[3]))
local taken, score = {}, string.format('%d.5', now + tonumber(ARGV[1]))
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', latest, 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', KEYS[1], score, member)
  taken[#taken + 1] = member
  taken[#taken + 1] = score
end
return taken
