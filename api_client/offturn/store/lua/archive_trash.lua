-- Objects to be deleted. lib.lua is not in front.
-- KEYS: trash. ARGV: delay in ms, then either an object, which is to be deleted then; or `` and a limit: objects that are to be
-- deleted now, put off for the delay, so that nobody else deletes them meanwhile, and no session is evicted for one of them.
-- Returns the score of the object, or the objects.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local score = string.format('%d', now + tonumber(ARGV[1]))
redis.call('ZREM', KEYS[1], ARGV[2]) -- a full server lets a script that began so go on: archiving makes room
if ARGV[2] ~= '' then
  redis.call('ZADD', KEYS[1], score, ARGV[2])
  return score
end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', string.format('%d', now), 'LIMIT', 0, ARGV[3])
for _, object in ipairs(found) do redis.call('ZADD', KEYS[1], score, object) end
return found
