-- Publish a generation. Conditions in this order: once, life, epoch, lease, chain, base, fuller.
-- a: op, incarnation, epoch, base, chain_length, chain, claim? {fence, token, request_no}, generation (its entry in
--    meta but for what is known only here); ARGV[3] is the payload.
local known = once()
if known then return known end
local function refused(why) return reply('refused', {why = why}) end

local g, current = a.generation, num('current')
if gone(a.incarnation) then return reply('gone') end
if a.epoch ~= s.epoch then return refused('epoch') end
if a.claim and not holds(a.claim) then return refused('fence') end
if not a.claim and not g.provisional then return refused('fence') end
if not linked(a.chain_length, a.chain) then return refused('chain') end
if not reached(a.base) then return refused('base') end
local replaced = covered(current)
if not inside(replaced, g.covered) then return refused('fuller') end
if g.provisional and current ~= a.base and inside(g.covered, replaced) then return refused('fuller') end

local number = num('counter') + 1
local based = gen(a.base)
g.told = math.max(g.told or 0, based and based.told or 0) -- words that a summary was told live on in later ones
g.nonce, g.epoch, g.base, g.replaces, g.at = a.op, s.epoch, a.base, current, now
set('counter', number)
set('g:' .. number, cjson.encode(g))
set('current', number)
turn(a.op)
set('tried', 0)
local ring = false
if a.claim then
  set('served', math.max(num('served'), a.claim.request_no))
  local later = {}
  for _, phase in ipairs(cjson.decode(s.phases or '[]')) do
    if phase.request > a.claim.request_no then later[#later + 1] = phase end
  end
  set('phases', ranges_json(later))
else
  set('adopted', number)
  ring = ask()
end
save()

local header = cjson.encode({number = number, nonce = a.op, base = a.base, replaces = current, at = now})
redis.call('SET', payload(number), header .. '\n' .. ARGV[3])
redis.call('ZADD', PACKING, 'LT', string.format('%d', now), MEMBER)
event('committed', {
  generation = number, base = a.base, replaces = current, method = g.method, reason = g.reason,
  provisional = g.provisional, tokens_after = g.tokens_after, by = a.claim and 'worker' or 'host',
})
rung(ring)

-- forget the oldest beyond the limit: those not in force and not replaced by what is go first
local kept, ancestor = {}, {}
for field in pairs(s) do
  local n = string.match(field, '^g:(%d+)$')
  if n then kept[#kept + 1] = tonumber(n) end
end
for _, start in ipairs({number, num('adopted')}) do
  local n = start
  while n ~= 0 and gen(n) do
    ancestor[n] = true
    n = gen(n).replaces
  end
end
table.sort(kept, function(x, y)
  if ancestor[x] ~= ancestor[y] then return ancestor[y] end
  return x < y
end)
local surplus = #kept - GENERATIONS_KEPT
for _, n in ipairs(kept) do
  if surplus > 0 and n ~= number and n ~= num('adopted') then
    redis.call('HDEL', META, 'g:' .. n)
    redis.call('UNLINK', payload(n))
    surplus = surplus - 1
  end
end

return remember(reply('committed', {number = number, revision = s.revision, adopted = num('adopted')}))
