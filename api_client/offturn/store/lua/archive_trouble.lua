-- Bringing a session back has failed: its hosts are told why, and it is tried again after a pause, or, where no pause helps,
-- when a host asks again. lib.lua is not in front.
-- KEYS: meta, due. ARGV: member, object, trouble, pause in ms (0: not by itself).
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local stub = redis.call('HMGET', KEYS[1], 'v', 'object')
if stub[1] ~= 'archived' or stub[2] ~= ARGV[2] then return 0 end
redis.call('HDEL', KEYS[1], 'trouble') -- a full server lets a script that began so go on
if ARGV[4] == '0' then
  redis.call('ZREM', KEYS[2], ARGV[1])
else
  redis.call('ZADD', KEYS[2], 'XX', string.format('%d', now + tonumber(ARGV[4])), ARGV[1])
end
redis.call('HSET', KEYS[1], 'trouble', ARGV[3])
return 1
