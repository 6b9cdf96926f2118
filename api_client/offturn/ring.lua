-- Rings for one job: the two writes of arq's enqueue_job, in one step and by the server's clock.
-- KEYS: queue (sorted set), payload.  ARGV: job id, payload up to the value of "et", payload lifetime in ms, channel.
-- Returns 1 if the job was put in the queue, 0 if it was there.
-- A running job stays in the queue until it is finished, so a member of the queue with its payload is all there is to
-- ask for. Our jobs leave no result: a result under this id is another program's failure and must not silence us.
local now = redis.call('TIME')
local ms = string.format('%.0f', now[1] * 1000 + math.floor(now[2] / 1000))
if redis.call('EXISTS', KEYS[2]) == 1 and redis.call('ZSCORE', KEYS[1], ARGV[1]) then
  return 0
end
redis.call('PSETEX', KEYS[2], ARGV[3], ARGV[2] .. ms .. '}')
redis.call('ZADD', KEYS[1], ms, ARGV[1])
redis.pcall('PUBLISH', ARGV[4], '') -- wakes workers; where it is not allowed they look a little later
return 1
