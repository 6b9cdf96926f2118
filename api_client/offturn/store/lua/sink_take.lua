-- Sessions that a sink has to be told of, put off for the length of a lease, so that nobody else takes them meanwhile.
-- KEYS: the sink's sessions. ARGV: lease_ms, limit. Returns member, the score it has now, ...
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

-- half a millisecond tells this score from that of a new generation, which is whole
local taken, score = {}, string.format('%d.5', now + tonumber(ARGV[1]))
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now), 'LIMIT', 0, ARGV[2])) do
  redis.call('ZADD', KEYS[1], score, member)
  taken[#taken + 1] = member
  taken[#taken + 1] = score
end
return taken
