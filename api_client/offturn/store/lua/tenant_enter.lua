-- A place among a tenant's running jobs, or the session is looked at again later. Again with the same token: the place is
-- kept on. Places whose lease ran out are free.
-- KEYS: the tenant's running jobs, due. ARGV: token, member, places, lease_ms, delay_ms
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local function ms(number) return string.format('%d', number) end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', ms(now))
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then
  redis.call('ZADD', KEYS[2], 'XX', ms(now + ARGV[5]), ARGV[2])
  return 0
end
redis.call('ZADD', KEYS[1], ms(now + ARGV[4]), ARGV[1])
redis.call('PEXPIRE', KEYS[1], ms(2 * ARGV[4]))
return 1
