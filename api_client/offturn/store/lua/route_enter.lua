-- May this entry of a route be asked now? Not while its breaker is open, but for one probe when the pause is over; not
-- beyond its account's requests and tokens a minute. A request above a whole minute's tokens waits for a full minute.
-- KEYS: routes, rates. ARGV: a as JSON {entry, account, token, tokens, requests_a_minute, tokens_a_minute (0: no limit),
-- probe_ms}
local a = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local known = redis.call('HGET', KEYS[1], a.entry)
local route = known and cjson.decode(known)
local open = route and route.open
if open then
  local wait = math.max(route['until'], route.probe_until) - now
  if wait > 0 then
    return cjson.encode({kind = 'shut', wait_ms = wait, reason = route.reason, permanent = route.permanent})
  end
end

local kept = redis.call('HGET', KEYS[2], a.account)
local level = kept and cjson.decode(kept) or {at = now}
local wait = 0
local function take(name, cost, limit)
  if limit <= 0 then return end
  local left = math.min(limit, (level[name] or limit) + (now - level.at) * limit / 60000)
  level[name] = left - cost
  wait = math.max(wait, (math.min(cost, limit) - left) * 60000 / limit)
end
take('requests', 1, a.requests_a_minute)
take('tokens', a.tokens, a.tokens_a_minute)
if wait > 0 then return cjson.encode({kind = 'limited', wait_ms = math.ceil(wait)}) end
if a.requests_a_minute > 0 or a.tokens_a_minute > 0 then
  level.at = now
  redis.call('HSET', KEYS[2], a.account, cjson.encode(level))
end
if open then
  route.probe, route.probe_until = a.token, now + a.probe_ms
  redis.call('HSET', KEYS[1], a.entry, cjson.encode(route))
end
return cjson.encode({kind = 'go'})
