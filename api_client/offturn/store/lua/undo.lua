-- Put another path in place: shorter (rewind), or with new messages where others were (amend, mirror). Nothing is deleted.
-- Checks in this order: once, life, the path is the one the caller read, something to undo, quota, the
-- tenant's quota.
-- a: op, incarnation, epoch, length, chain, counter, path, path_tokens, open, unfit, shown_tokens, shadow,
--    config?, entries as in record.lua; ARGV[3..] are their envelopes. `unfit`: generations inside the path whose view the caller
--    found broken; `shown_tokens`: what the view of the one that will be current weighs; `shadow`: that one does not go
--    in force.
local DIGEST, ID = 1, 5
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

-- epoch and length name the path, the counter the generations that the caller has judged
local same = a.epoch == s.epoch and a.counter == num('counter') and a.length == num('log_len')
if not same or not linked(a.length, a.chain) then return reply('moved') end
local path, length = a.path, a.length + #a.entries
if ranges_json(path) == s.path then return reply('refused', {why = 'nothing'}) end
local order = sorted(path)
if not inside(order, {{0, length}}) then return reply('refused', {why = 'path'}) end

local unfit = {}
for _, number in ipairs(a.unfit) do unfit[number] = true end
-- of a generation and what it replaced, the first that still holds
local function holding(number)
  local g = gen(number)
  while g do
    if not unfit[number] and inside(g.covered, order) then return number, g end
    number = g.replaces
    g = gen(number)
  end
  return 0
end
local number, g = holding(num('current'))
local shown = a.shadow and holding(num('adopted')) or number
if g then
  g.tokens_after, g.at_tokens = a.shown_tokens, a.path_tokens
  set('g:' .. number, cjson.encode(g))
end

local chain, lines, bytes = s.chain, {}, 0
for i, entry in ipairs(a.entries) do
  chain = redis.sha1hex(chain .. entry[DIGEST])
  lines[i] = string.format('%s %d ', chain, now) .. ARGV[2 + i]
  bytes = bytes + #lines[i]
end
if bytes > 0 and full(bytes) then return overfull(bytes) end
local refused = overdrawn(bytes)
if refused then return refused end

set('path', ranges_json(path))
set('path_tokens', a.path_tokens)
set('open', a.open)
set('current', number)
set('adopted', shown)
set('epoch', a.op)
if a.config then set('config', a.config) end
turn(a.op)
set('tried', 0)
if bytes > 0 then weigh(bytes, length) end
set('log_len', length)
set('chain', chain)
local ring = ask()
save()
for i, entry in ipairs(a.entries) do
  redis.call('RPUSH', LOG, lines[i])
  if entry[ID] then redis.call('HSET', IDS, entry[ID], string.format('%d:%s', a.length + i - 1, entry[DIGEST])) end
end
rung(ring)
event(#a.entries > 0 and 'amended' or 'rewound', {generation = number, seq = length - 1, tokens = a.path_tokens})
return remember(reply('undone', {
  revision = s.revision, current = number, adopted = shown, length = length, chain = s.chain, path = path, path_tokens = a.path_tokens,
  ring = ring, request_no = num('request_no'), at = now,
}))
