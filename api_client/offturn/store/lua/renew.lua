-- Extend a lease. One that expired is still its holder's until somebody else claims. A job whose epoch is over can not
-- commit any more: it need not pay on.
-- a: claim {incarnation, epoch, fence, token}, lease_ms
if gone(a.claim.incarnation) or a.claim.epoch ~= s.epoch or not holds(a.claim) then return reply('lost') end
set('leased_until', now + a.lease_ms)
save()
if due() then due_now() end
return reply('held')
