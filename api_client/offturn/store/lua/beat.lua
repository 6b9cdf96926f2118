-- A worker says that it is there; with no facts, that it leaves. It belongs to no session: lib.lua is not in front.
-- KEYS: workers (hash), seen (the last beat; its lifetime is how long nobody is missed).
-- ARGV: worker id, facts as a JSON object ('': it leaves), how long it counts in ms, when it is forgotten in ms.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
if ARGV[2] == '' then return redis.call('HDEL', KEYS[1], ARGV[1]) end

local all, old = redis.call('HGETALL', KEYS[1]), {}
for i = 1, #all, 2 do
  local at = tonumber(string.match(all[i + 1], '^{"at":(%d+)')) or 0
  if at + tonumber(ARGV[4]) < now then old[#old + 1] = all[i] end
end
if #old > 0 then redis.call('HDEL', KEYS[1], unpack(old)) end

redis.call('HSET', KEYS[1], ARGV[1], string.format('{"at":%d,', now) .. string.sub(ARGV[2], 2))
local left = redis.call('PTTL', KEYS[2]) -- a long promise outlives the shorter ones made after it
redis.call('SET', KEYS[2], string.format('%d', now), 'PX', math.max(left, tonumber(ARGV[3])))
return 1
