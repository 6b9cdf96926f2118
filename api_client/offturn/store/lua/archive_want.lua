-- A host wants an archived session: it is due for a worker, which brings it back. lib.lua is not in front.
-- KEYS: meta, due. ARGV: member. Returns 0 where there is no stub, else 1, and the trouble of the last try where the next one waits.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local stub = redis.call('HMGET', KEYS[1], 'v', 'trouble')
if stub[1] ~= 'archived' then return {0, ''} end

-- a try that waits is not brought forward: an archive that is away must not be asked by every call
local score = redis.call('ZSCORE', KEYS[2], ARGV[1])
if score and tonumber(score) > now then return {1, stub[2] or ''} end
if not score then redis.call('ZADD', KEYS[2], string.format('%d', now), ARGV[1]) end
redis.call('HDEL', KEYS[1], 'trouble')
return {1, ''}
