-- Put the newest pack's entries back in front of the list.
-- a: incarnation, first, sha (of the pack); ARGV[3..] are its entries without their chain hashes.
if gone(a.incarnation) then return reply('gone') end
local base, first, count = num('base'), a.first, #ARGV - 2
local pack = redis.call('HGET', PACKS, first)
if first + count ~= base or not pack or redis.sha1hex(pack) ~= a.sha then return reply('moved') end
local hashes, bytes = marks(first, base), 0
if #hashes ~= MARK * count then return reply('torn', {held = 0, length = num('log_len')}) end

redis.call('HDEL', PACKS, first) -- a full server has to let go of a session: what frees room comes first
for i = count, 1, -1 do
  local item = hex(string.sub(hashes, MARK * (i - 1) + 1, MARK * i)) .. ' ' .. ARGV[2 + i]
  redis.call('LPUSH', LOG, item)
  bytes = bytes + #item
end
if first == 0 then
  redis.call('UNLINK', MARKS)
  redis.call('HDEL', META, 'base', 'saved')
  redis.call('HSET', META, 'v', 1) -- releases that read no packs read it again
else
  redis.call('SET', MARKS, marks(0, first), 'KEEPTTL')
  local saved = num('saved') - bytes + #pack + #hashes
  redis.call('HSET', META, 'base', string.format('%d', first), 'saved', string.format('%d', saved))
end
redis.call('ZADD', PACKING, 'LT', string.format('%d', now), MEMBER)
return reply('unpacked', {base = first})
