-- One walk over all sessions, which the workers share: whose turn it is, and how far it is. lib.lua is not in front.
-- KEYS: walk. ARGV: token, ms that the turn lasts (0: it ends), the place reached ('': only take or keep the turn), ms that nobody
-- walks then. Returns the place, false where it is somebody else's turn.
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local known = redis.call('HMGET', KEYS[1], 'token', 'until', 'place')
if known[1] ~= ARGV[1] and tonumber(known[2] or 0) > now then return false end
if known[1] ~= ARGV[1] and ARGV[3] ~= '' then return false end
local place = ARGV[3] ~= '' and ARGV[3] or known[3] or ''
local turn = ARGV[2] ~= '0' and now + tonumber(ARGV[2]) or now + tonumber(ARGV[4])
redis.call('HDEL', KEYS[1], 'token') -- a full server lets a script that began so go on: the walk makes room
redis.call('HSET', KEYS[1], 'token', ARGV[2] ~= '0' and ARGV[1] or '', 'until', string.format('%d', turn), 'place', place)
return place
