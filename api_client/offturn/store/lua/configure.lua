-- Replace the stored configuration and its thresholds. Jobs that run under the one before are superseded.
-- The caller has changed what it read: where another was faster, it reads again.
-- a: op, incarnation, epoch, config, thresholds, calibration ('': nothing learnt yet), limits? {ttl, quota, too_dense}, pace? {hourly, interval, idle_ms, idle_floor}
local known = once()
if known then return known end
if gone(a.incarnation) then return reply('gone') end
if a.epoch ~= s.epoch then return reply('moved') end

set('config', a.config)
set('calibration', a.calibration)
set('soft', a.thresholds[1])
set('hard', a.thresholds[2])
set('growth', a.thresholds[3])
set('epoch', a.op)
set('tried', 0)
if a.limits then bounded(a.limits) end
if a.pace then paced(a.pace) end
local ring = ask()
save()
rung(ring)
event('configured', {soft = num('soft'), hard = num('hard')})
return remember(reply('steered', {ring = ring, request_no = num('request_no')}))
