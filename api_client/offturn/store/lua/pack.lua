-- Put the list's first entries into a pack and let the list go on behind them. Nothing else of the session changes: not
-- what it says, not when it was written last, not when it ends.
-- a: incarnation, upto, sha (of the entries' items, a line each); ARGV[3] is the pack.
if gone(a.incarnation) then return reply('gone') end
local base, length, upto = num('base'), num('log_len'), a.upto
if upto <= base or upto >= length then return reply('moved') end
if num('packable') ~= length then return reply('moved') end -- a release took part that cannot read it

local items, hashes, bytes = listed(base, upto), {}, 0
if redis.sha1hex(table.concat(items, '\n')) ~= a.sha then return reply('moved') end
for i, item in ipairs(items) do
  hashes[i] = string.gsub(string.sub(item, 1, 40), '%x%x', function(byte) return string.char(tonumber(byte, 16)) end)
  bytes = bytes + #item
end
hashes = table.concat(hashes)
if redis.call('STRLEN', MARKS) ~= MARK * base or #hashes ~= MARK * (upto - base) then
  return reply('torn', {held = #items, length = length})
end

local all = log_bytes()
redis.call('HDEL', PACKS, base) -- a full server has to let go of a session: what frees room comes first
redis.call('HSET', PACKS, base, ARGV[3])
redis.call('SETRANGE', MARKS, MARK * base, hashes)
redis.call('LTRIM', LOG, upto - base, -1)
local saved = num('saved') + bytes - #ARGV[3] - #hashes
local function text(number) return string.format('%d', number) end
redis.call('HSET', META, 'v', 2, 'base', text(upto), 'saved', text(saved), 'log_bytes', text(all), 'measured', text(length))
local left = redis.call('PTTL', META)
for _, name in ipairs(left > 0 and {PACKS, MARKS} or {}) do redis.call('PEXPIREAT', name, text(now + left)) end
return reply('packed', {base = upto, bytes = bytes, stored = #ARGV[3] + #hashes})
