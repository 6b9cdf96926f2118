-- End this life of the session. What stays is a tombstone: the number the next life counts on from.
-- a: incarnation
if not alive() and a.incarnation == num('incarnation') then
  wipe()
  unlist()
  account(nil)
  return reply('purged', {replicas = replicas()})
end
if gone(a.incarnation) then return reply('gone') end

-- first what frees room: a full server lets a script that began so go on
for field in pairs(s) do
  local number = string.match(field, '^g:(%d+)$')
  if number then redis.call('UNLINK', payload(number)) end
end
wipe()
redis.call('UNLINK', META, LIFE)
redis.call('HSET', META, 'v', 1, 'incarnation', a.incarnation, 'alive', 0)
unlist()
account(nil)
return reply('purged', {replicas = replicas()})
