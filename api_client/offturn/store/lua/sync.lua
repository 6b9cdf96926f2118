-- Reads only: the state, and the log after what the caller has; from the start if it has something else, or what it has
-- was redacted since. With `touch`, a host's, a TTL of which more than a quarter has passed starts again.
-- a: incarnation, length, chain, redactions, limit_bytes, limit_entries, touch?
if not alive() then return {now, num('incarnation') + 1} end
if a.touch and num('ttl') > 0 and redis.call('PTTL', META) < num('ttl') * 3 / 4 then
  pcall(prolong) -- where the server takes no writes now, reading goes on
end
local same = a.incarnation == num('incarnation') and a.redactions == num('redactions')
local reset = a.length > 0 and not (same and linked(a.length, a.chain))
local start, total, step = reset and 0 or a.length, num('log_len'), 20
local found, bytes, at = {}, 0, start
local packs = a.limit_entries > 0 and start < num('base') and packed(start, num('base'), a.limit_bytes / 4) or {}
if start < num('base') then at = total end -- packs are pages of their own, and hold about four times what they take
while at < total and #found < a.limit_entries and bytes < a.limit_bytes do
  for _, entry in ipairs(listed(at, math.min(at + step, total))) do
    if #found < a.limit_entries and bytes < a.limit_bytes then
      found[#found + 1] = entry
      bytes = bytes + #entry
    end
  end
  at = at + step
end
return {now, num('incarnation'), start, reset and 1 or 0, due() and 1 or 0, unattended() and 1 or 0, found, flat, packs}
