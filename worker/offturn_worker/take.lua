-- Takes the first due job that nobody runs: one step in place of the four questions arq asks for each candidate, and by
-- the server's clock. A worker that lost the race for a job learns so from the same answer. One job at a time, so that
-- workers with free slots share what waits.
-- KEYS: queue. The locks have names of their own, and no slot in common: a queue is never a cluster.
-- ARGV: what a lock's name begins with, its lifetime in ms, ids to look at, then the ids this worker runs.
-- Returns how many ids it saw, and the id and score of the job it took; running jobs stay in front of the queue.
local seen = redis.call('ZRANGE', KEYS[1], 0, ARGV[3] - 1, 'WITHSCORES')
if #seen == 0 then return {0} end
-- Times up to zero, which no ring leaves and arq never runs.
if tonumber(seen[2]) <= 0 then redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', 0) end

local clock, mine = redis.call('TIME'), {}
local now = clock[1] * 1000 + math.floor(clock[2] / 1000)
for i = 4, #ARGV do mine[ARGV[i]] = true end
local due, locks = {}, {}
for i = 1, #seen, 2 do
  local score = tonumber(seen[i + 1])
  if score > now then break end
  if score > 0 and not mine[seen[i]] then
    due[#due + 1] = i
    locks[#locks + 1] = ARGV[1] .. seen[i]
  end
end

local STEP = 1000 -- names in one command: Lua's stack holds some thousands
for from = 1, #locks, STEP do
  local held = redis.call('MGET', unpack(locks, from, math.min(from + STEP - 1, #locks)))
  for i = 1, #held do
    if not held[i] then
      local at = due[from + i - 1]
      redis.call('PSETEX', locks[from + i - 1], ARGV[2], '1')
      return {#seen / 2, seen[at], seen[at + 1]}
    end
  end
end
return {#seen / 2}
