-- Reads only: entries `start` .. `stop` - 1 as far as they are there, in one of two forms: those that are packed come as packs.
-- With `known` only of that very log, nothing of which was redacted since, and in pages like those of a sync.
-- a: start, stop, limit_bytes (without `known` of packs only), known? {incarnation, redactions, length, chain, limit_entries}
if a.known then
  local same = not gone(a.known.incarnation) and a.known.redactions == num('redactions')
  if not (same and linked(a.known.length, a.known.chain)) then return reply('moved') end
end
if not alive() then return {{}, {}} end
local base = num('base')
if a.start < base then
  return {{}, packed(a.start, math.min(a.stop, base), a.known and a.limit_bytes / 4 or a.limit_bytes)}
end
if not a.known then return {listed(a.start, a.stop), {}} end
local found, bytes, at, stop = {}, 0, a.start, math.min(a.stop, a.start + a.known.limit_entries)
while at < stop and bytes < a.limit_bytes do
  for _, entry in ipairs(listed(at, math.min(at + 20, stop))) do
    if bytes < a.limit_bytes then
      found[#found + 1] = entry
      bytes = bytes + #entry
    end
  end
  at = at + 20
end
return {found, {}}
