-- Keep a paid chunk result under its content's key. No lease needed: what is paid is worth keeping; never in another
-- life, nor after something was redacted that it may quote.
-- a: incarnation, redactions, chunk; ARGV[3] is the value.
if gone(a.incarnation) then return reply('gone') end
if a.redactions ~= num('redactions') then return reply('outdated') end
keep(CHUNKS, CHUNKSQ, a.chunk, ARGV[3], CHUNKS_KEPT, CHUNKS_BYTES)
return reply('kept')
