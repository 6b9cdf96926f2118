-- Forget generations whose record the server has lost. Current and in force become the nearest of what they replaced
-- that is there, at last 0; jobs are superseded, because theirs may be among the lost.
-- a: incarnation, nonce
if gone(a.incarnation) then return reply('gone') end

local lost, fields = {}, {}
for field in pairs(s) do
  local number = tonumber(string.match(field, '^g:(%d+)$'))
  if number and not there(number) then
    lost[number] = gen(number)
    fields[#fields + 1] = field
  end
end
local function nearest(number)
  while lost[number] do number = lost[number].replaces end
  return number
end

local ring = false
if #fields > 0 then
  -- first what frees room: a full server lets a script that began so go on
  redis.call('HDEL', META, unpack(fields))
  for _, field in ipairs(fields) do s[field] = nil end
  for field, text in pairs(s) do
    local g = string.match(field, '^g:%d+$') and cjson.decode(text)
    if g and lost[g.replaces] then
      g.replaces = nearest(g.replaces)
      set(field, cjson.encode(g))
    end
  end
  set('current', nearest(num('current')))
  set('adopted', nearest(num('adopted')))
  set('epoch', a.nonce)
  turn(a.nonce)
  set('tried', 0)
  ring = ask()
  save()
  rung(ring)
  event('mended', {lost = #fields, generation = num('adopted'), current = num('current')})
end
return reply('mended', {lost = #fields, current = num('current'), adopted = num('adopted'), ring = ring,
  request_no = num('request_no')})
