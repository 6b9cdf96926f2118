-- When a compaction is wanted, and what the due set says of it; put behind lib.lua, in front of each script.

-- the one trigger rule

local function pressure()
  local g = gen(num('current'))
  if not g then return num('path_tokens') end
  return g.tokens_after + num('path_tokens') - g.at_tokens
end

local function requirement()
  local size = pressure()
  if size >= num('hard') then return 'hard' end
  if size >= num('soft') and num('path_tokens') >= num('held') then return 'soft' end
  return 'none'
end

-- open while it holds a sentence for people
local function blocked() return (s.blocked or '') ~= '' end

-- did a job find nothing to gain in the very path there is? until it grows, another would end the same way
local function tried() return num('tried') > 0 and num('tried') == num('path_tokens') end

-- below the soft level: has the path grown by a step since the last look? what steps prune costs nobody anything
local function stepping()
  return requirement() == 'none' and num('step') > 0 and pressure() >= num('step') and num('path_tokens') >= num('stepped')
end

local function wanted()
  if num('asked') > num('served') then return true end
  if s.parked == '1' or blocked() then return false end
  local level = requirement()
  return level == 'soft' or (level == 'hard' and not tried()) or stepping()
end

local function hold() set('held', num('path_tokens') + num('growth')) end

-- the too-dense breaker: so many compactions in a row that made no room; no job starts until somebody lifts it

-- sizes as a provider counts whole requests, where usage has taught that; of an estimate else
local function sizes()
  local known = (s.calibration or '') ~= '' and cjson.decode(s.calibration) or {}
  local factor, apart = known.factor or 1, known.overhead or 0
  local function real(size) return apart + math.ceil(factor * size - 0.000001) end
  if apart == 0 then
    return string.format('Its messages take about %d tokens, compaction starts at %d.', real(pressure()), real(num('soft')))
  elseif num('soft') <= 1 then -- the level is below what the messages can be made to take
    return string.format('The system prompt and the tools alone take about %d tokens of each request, more than the ' ..
      'level at which compaction starts: make them smaller, or give a larger window or a higher level. Its messages ' ..
      'take about %d tokens more.', apart, real(pressure()) - apart)
  end
  return string.format('Its requests take about %d tokens, about %d of them for the system prompt and the tools; ' ..
    'compaction starts at %d.', real(pressure()), apart, real(num('soft')))
end

local function strike()
  set('strikes', num('strikes') + 1)
  if num('strikes') < (num('too_dense') > 0 and num('too_dense') or STRIKES) then return end
  set('served', num('request_no'))
  set('blocked', string.format(
    'This conversation cannot be made shorter: %d compactions in a row made no room. %s It goes on, but older parts ' ..
    'may be left out of what the model sees.', num('strikes'), sizes()))
end

-- did the compaction before make room? not, if the view is at the hard level again and the path has hardly grown
local function judge()
  if (s.trial or '') == '' then return end
  local grown = num('path_tokens') - num('trial')
  set('trial', '')
  if pressure() >= num('hard') and grown < num('growth') then strike() else set('strikes', 0) end
end

local function lift()
  set('strikes', 0)
  set('trial', '')
  set('blocked', '')
  set('tried', 0)
end

local function opened()
  event('blocked', {strikes = num('strikes'), tokens = pressure(), soft = num('soft'), sentence = s.blocked})
end

-- due

local known_score -- once it was looked at, what this script has made of it
local function score()
  if newborn then return false end
  if known_score == nil then known_score = tonumber(redis.call('ZSCORE', DUE, MEMBER) or nil) or false end
  return known_score
end

-- in the set only for the end of a silence? also one that has ended, and whose job a limit has put off
local function silent()
  local at, doze = score(), num('doze')
  return doze > 0 and at and (at == doze or doze <= now)
end

local function due() return (score() or false) and not (silent() and num('doze') > now) end

local function set_due(at)
  redis.call('ZADD', DUE, string.format('%d', at), MEMBER)
  known_score = at
end

-- a session in a worker's hands is looked at again when its lease ends
local function due_now() set_due(leased() and num('leased_until') or now) end

local function clear_due()
  redis.call('ZREM', DUE, MEMBER)
  known_score = false
end

local function wipe()
  if redis.call('EXISTS', LOG, PACKS) > 0 then -- only the state has expired, and with it which generations there were
    for number = 1, 16 * GENERATIONS_KEPT do redis.call('UNLINK', payload(number)) end
  end
  redis.call('UNLINK', LOG, OPS, IDS, EVENTS, CHUNKS, OPSQ, CHUNKSQ, PACKS, MARKS)
end

-- out of the shard's lists; a session that expired could not do it itself
local function unlist()
  clear_due()
  redis.call('ZREM', PACKING, MEMBER)
  redis.call('HDEL', DEAD, MEMBER)
end

local function due_as_wanted()
  if not wanted() then
    clear_due()
  elseif not due() then
    due_now()
  end
end

-- due for a while, and no worker there
local function unattended()
  local at = score()
  return at and at + GRACE_MS < now and redis.call('EXISTS', SEEN) == 0
end

local function unpark()
  unparked = s.parked == '1'
  set('attempts', 0)
  set('failures', 0)
  set('ends', '')
  set('parked', 0)
end

-- how a job ended that counts as an attempt: what a parked session tells about itself
local function ended(kind, worker)
  local ends = (s.ends or '') ~= '' and cjson.decode(s.ends) or {}
  ends[#ends + 1] = {kind = kind, at = now, worker = worker}
  if #ends > ENDS_KEPT then table.remove(ends, 1) end
  set('ends', cjson.encode(ends))
end

-- when the automatic compactions of the last hour ended, oldest first
local function starts()
  local recent = {}
  for _, at in ipairs((s.starts or '') ~= '' and cjson.decode(s.starts) or {}) do
    if at > now - HOUR then recent[#recent + 1] = at end
  end
  return recent
end

-- does work that nobody was asked for become wanted? then it gets a number; true: set due and ring the bell
-- broken: whatever silence the session is due for has just ended
local function ask(broken)
  if (due() and not broken) or not wanted() then return false end
  set('request_no', num('request_no') + 1)
  return true
end

-- after `save()`: a server out of memory must not be left with a due session that nothing was written of
local function rung(ring)
  if not ring then return end
  due_now()
  event('due', {request = num('request_no'), requirement = requirement(), seq = num('log_len') - 1})
end
