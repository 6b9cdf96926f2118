-- Notes which request an Idempotency-Key came with, unless one did before, and which keys are to be forgotten for it.
-- KEYS: the note, the API key's notes in their order. ARGV: what tells the request, seconds, notes of an API key at most,
-- what the note is called in the order.
-- Returns what the first request was told by, and the name that was pushed out, whose note the caller deletes: its key is
-- none of this script's.
local said = redis.call('GET', KEYS[1])
if said then return {said} end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
local count = redis.call('RPUSH', KEYS[2], ARGV[4])
redis.call('EXPIRE', KEYS[2], ARGV[2])
if count <= tonumber(ARGV[3]) then return {ARGV[1]} end
return {ARGV[1], redis.call('LPOP', KEYS[2])}
