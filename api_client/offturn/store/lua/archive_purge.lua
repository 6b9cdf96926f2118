-- End the life of an archived session without bringing it back: a tombstone takes the stub's place, its object is deleted.
-- lib.lua is not in front.
-- KEYS: meta, life, due, dead, and archived, trash unless the walk is to find the object. ARGV: member, incarnation.
-- Returns -2 where there is no such stub, else the number of replicas as lib.lua has it.
local META, LIFE, DUE, DEAD, ARCHIVED, TRASH = unpack(KEYS)
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local stub = redis.call('HMGET', META, 'v', 'incarnation', 'object', 'bytes')
if stub[1] ~= 'archived' or stub[2] ~= ARGV[2] then return -2 end

-- first what frees room: a full server lets a script that began so go on
redis.call('UNLINK', META, LIFE)
redis.call('HSET', META, 'v', 1, 'incarnation', ARGV[2], 'alive', 0)
if TRASH then
  redis.call('ZADD', TRASH, string.format('%d', now), stub[3])
  redis.call('HDEL', ARCHIVED, ARGV[1])
  local usage = string.sub(DUE, 1, -4) .. string.match(ARGV[1], '^[^:]+') .. ':usage'
  redis.call('HINCRBY', usage, 'archived_bytes', -tonumber(stub[4]))
  redis.call('HINCRBY', usage, 'archived_sessions', -1)
end
redis.call('ZREM', DUE, ARGV[1])
redis.call('ZREM', string.sub(DUE, 1, -4) .. 'packing', ARGV[1])
redis.call('HDEL', DEAD, ARGV[1])
local info = redis.pcall('INFO', 'replication')
return type(info) == 'string' and tonumber(string.match(info, 'connected_slaves:(%d+)')) or -1
