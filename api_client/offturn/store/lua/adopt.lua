-- Put the current generation in force. The caller knows that no group is open at this length of the log.
-- a: incarnation, length, nonce
if gone(a.incarnation) then return reply('gone') end
if a.length ~= num('log_len') then return reply('stale') end
if num('adopted') ~= num('current') then
  set('adopted', num('current'))
  turn(a.nonce)
  save()
  event('adopted', {generation = num('adopted'), seq = a.length - 1})
end
return reply('adopted', {revision = s.revision, adopted = num('adopted')})
