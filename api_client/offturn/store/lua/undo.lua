-- Put another path in place: shorter (rewind), or with a new message where another was (amend). Nothing is deleted.
-- Checks in this order: once, life, the path is the one the caller read, something to undo, quota.
-- a: op, incarnation, epoch, length, chain, counter, path, path_tokens, open, unfit, shown_tokens, entry? {digest, id?};
--    ARGV[3] is the entry's envelope. `unfit`: generations inside the path whose view the caller found broken;
--    `shown_tokens`: what the view of the one that will be in force weighs.
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

-- epoch and length name the path, the counter the generations that the caller has judged
local same = a.epoch == s.epoch and a.counter == num('counter') and a.length == num('log_len')
if not same or not linked(a.length, a.chain) then return reply('moved') end
local path, length = a.path, a.length + (a.entry and 1 or 0)
if ranges_json(path) == s.path then return reply('refused', {why = 'nothing'}) end
local order = sorted(path)
if not inside(order, {{0, length}}) then return reply('refused', {why = 'path'}) end

local unfit = {}
for _, number in ipairs(a.unfit) do unfit[number] = true end
local number = num('current')
while number ~= 0 do
  local g = gen(number)
  if not g then
    number = 0
  elseif not unfit[number] and inside(g.covered, order) then
    g.tokens_after, g.at_tokens = a.shown_tokens, a.path_tokens
    set('g:' .. number, cjson.encode(g))
    break
  else
    number = g.replaces
  end
end

local line = a.entry and string.format('%s %d ', redis.sha1hex(s.chain .. a.entry.digest), now) .. ARGV[3]
if line and full(#line) then return overfull(#line) end

set('path', ranges_json(path))
set('path_tokens', a.path_tokens)
set('open', a.open)
set('current', number)
set('adopted', number)
set('epoch', a.op)
turn(a.op)
if line then
  weigh(#line, length)
  set('log_len', length)
  set('chain', string.sub(line, 1, 40))
end
local ring = ask()
save()
if a.entry then
  redis.call('RPUSH', LOG, line)
  if a.entry.id then redis.call('HSET', IDS, a.entry.id, string.format('%d:%s', a.length, a.entry.digest)) end
end
rung(ring)
event(a.entry and 'amended' or 'rewound', {generation = number, seq = length - 1, tokens = a.path_tokens})
return remember(reply('undone', {
  revision = s.revision, current = number, length = length, chain = s.chain, path = path, path_tokens = a.path_tokens,
  ring = ring, request_no = num('request_no'),
}))
