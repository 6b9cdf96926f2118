-- Write what is there already: WAIT on the same connection then waits for every write before it.
if s.v then redis.call('HSET', META, 'v', s.v) end
return reply('confirming')
