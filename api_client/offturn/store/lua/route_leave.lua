-- What became of a call: an answer closes the entry's breaker; trouble opens it, or makes its pause longer.
-- KEYS: routes. ARGV: a as JSON {entry, token, trouble? (kind), permanent, failures, pause_ms, longest_ms, retry_after_ms}
local KEPT = 7 * 24 * 3600 * 1000 -- an entry nobody asks any more is forgotten
local a = cjson.decode(ARGV[1])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)

local known = redis.call('HGET', KEYS[1], a.entry)
local route = known and cjson.decode(known) or {v = 1, open = false, failures = 0, since = 0, ['until'] = 0, pause_ms = 0}
if not a.trouble then
  if known then redis.call('HDEL', KEYS[1], a.entry) end
  return cjson.encode({kind = route.open and 'closed' or 'same'})
end

route.failures = route.failures + 1
route.at = now
local probe = route.open and route.probe == a.token
local enough = a.permanent or route.failures >= a.failures
local opens = not route.open and (enough or a.retry_after_ms > 0)
if probe or opens then
  route.pause_ms = probe and math.min(math.max(a.pause_ms, 2 * route.pause_ms), a.longest_ms) or a.pause_ms
  route['until'] = now + math.max((probe or enough) and route.pause_ms or 0, a.retry_after_ms)
  route.reason, route.permanent = a.trouble, a.permanent
  route.since = opens and now or route.since
  route.open, route.probe, route.probe_until = true, '', 0
end
redis.call('HSET', KEYS[1], a.entry, cjson.encode(route))
local every = redis.call('HGETALL', KEYS[1])
for i = 1, #every, 2 do
  if cjson.decode(every[i + 1]).at < now - KEPT then redis.call('HDEL', KEYS[1], every[i]) end
end
return cjson.encode({kind = opens and 'opened' or 'same', wait_ms = math.max(0, route['until'] - now)})
