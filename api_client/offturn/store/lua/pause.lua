-- Pause a tenant, or resume it; pauses that have ended are forgotten. It belongs to no session.
-- KEYS: pauses (hash, tenant or * -> facts). ARGV: field; why, and for how long in ms (0: until somebody resumes) - or no
-- more: resume. Answers what was stored, or how many pauses were ended.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local read, facts = pcall(cjson.decode, all[i + 1])
  local ends = read and type(facts) == 'table' and tonumber(facts['until'])
  if ends and ends <= now then redis.call('HDEL', KEYS[1], all[i]) end
end
if not ARGV[2] then return redis.call('HDEL', KEYS[1], ARGV[1]) end

local facts = {v = 1, at = now, reason = ARGV[2]}
if tonumber(ARGV[3]) > 0 then facts['until'] = now + tonumber(ARGV[3]) end
local stored = cjson.encode(facts)
redis.call('HSET', KEYS[1], ARGV[1], stored)
return stored
