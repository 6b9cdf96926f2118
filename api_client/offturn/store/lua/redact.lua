-- Delete the content of messages: tombstones take the place of their entries, and all that may quote them goes:
-- generations, chunks, notes, digests, events. Checks in this order: once, life, the caller has read this path (which
-- may have grown since) and its generations, none of them is packed.
-- a: op, incarnation, epoch, length, chain, counter, entries {seq, id?}, quoting, tokens, reason, salt; ARGV[3..] are the
--    tombstones' envelopes. `quoting`: generations that edit what quotes one of the messages; `tokens`: by which the path
--    gets lighter.
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end

local same = a.epoch == s.epoch and a.counter == num('counter')
if not same or not linked(a.length, a.chain) then return reply('moved') end
local function redacted(ring)
  return reply('redacted', {
    current = num('current'), adopted = num('adopted'), revision = s.revision, ring = ring,
    request_no = num('request_no'), replicas = replicas(),
  })
end
if #a.entries == 0 then return redacted(false) end

local envelopes, seqs, first = {}, {}, a.length
for i, entry in ipairs(a.entries) do
  envelopes[entry.seq], seqs[i] = ARGV[2 + i], entry.seq
  first = math.min(first, entry.seq)
end

if first < num('base') then return reply('still-packed', {base = num('base')}) end

-- a generation goes that covers one of them, edits what quotes one, or was told words of the host's when it was there
local dropped, quoting = {}, {}
for _, number in ipairs(a.quoting) do quoting[number] = true end
for field in pairs(s) do
  local number = tonumber(string.match(field, '^g:(%d+)$'))
  local g = number and gen(number)
  local goes = g and (quoting[number] or (g.told or 0) > first)
  for _, seq in ipairs(g and seqs or {}) do goes = goes or on(g.covered, seq) end
  if goes then dropped[number] = true end
end
local current = num('current')
while current ~= 0 and (dropped[current] or not gen(current)) do
  local g = gen(current)
  current = g and g.replaces or 0
end

-- first what frees room: a full server lets a script that began so go on
redis.call('UNLINK', CHUNKS, CHUNKSQ)
local gone_generations = 0
for number in pairs(dropped) do
  redis.call('UNLINK', payload(number))
  redis.call('HDEL', META, 'g:' .. number)
  s['g:' .. number] = nil
  gone_generations = gone_generations + 1
end
for _, row in ipairs(redis.call('XRANGE', EVENTS, '-', '+')) do
  local fields = cjson.decode(row[2][4])
  if row[2][2] ~= 'usage' and dropped[fields.generation] then redis.call('XDEL', EVENTS, row[1]) end
end

-- A chain hash from here on would let anybody test a guess at what is deleted. Hashed once more with a value that
-- nobody keeps, each still stands for one log up to its seq.
local function other(hash) return redis.sha1hex(a.salt .. hash) end
local bytes = log_bytes()
for seq = num('log_len') - 1, first, -1 do
  local item = redis.call('RPOP', LOG)
  local rest = string.sub(item, 41)
  if envelopes[seq] then rest = string.match(rest, '^ %d+ ') .. envelopes[seq] end
  bytes = bytes + 40 + #rest - #item
  redis.call('LPUSH', LOG, other(string.sub(item, 1, 40)) .. rest)
end
for _ = first, num('log_len') - 1 do redis.call('LMOVE', LOG, LOG, 'LEFT', 'RIGHT') end
local replies = redis.call('HGETALL', OPS)
for i = 1, #replies, 2 do
  local told = cjson.decode(replies[i + 1])
  told = told.kind and told or told[2] or {}
  if told.chain and told.length > first then
    redis.call('HSET', OPS, replies[i], (string.gsub(replies[i + 1], told.chain, other(told.chain))))
  end
end
for _, entry in ipairs(a.entries) do
  local place = entry.id and redis.call('HGET', IDS, entry.id)
  if place and tonumber(string.match(place, '^%d+')) == entry.seq then
    redis.call('HSET', IDS, entry.id, string.format('%d:%s', entry.seq, FORGOTTEN))
  end
end

set('chain', other(s.chain))
set('log_bytes', bytes)
set('measured', num('log_len'))
set('held', math.max(0, num('held') - a.tokens))
set('path_tokens', num('path_tokens') - a.tokens)
set('trial', '') -- the compaction that was going to be judged by what came after it may be gone
set('focus', '')
set('note', '')
local phases = cjson.decode(s.phases or '[]')
for _, phase in ipairs(phases) do phase.note = '' end
set('phases', ranges_json(phases))
set('current', current)
if dropped[num('adopted')] then set('adopted', current) end
set('redactions', num('redactions') + 1)
set('epoch', a.op)
turn(a.op)
set('tried', 0)
local ring = ask()
save()
rung(ring)
event('redacted', {messages = #seqs, generations = gone_generations, reason = a.reason})
return remember(redacted(ring))
