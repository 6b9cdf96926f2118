"""Broken scripts of the archive: what to replace, and the trace that notices it."""

from __future__ import annotations

ARCHIVE_MUTATIONS = {
    # name: (script; old; new; trace)
    "evict of what is due": (
        "archive_evict",
        "if redis.call('ZSCORE', DUE, MEMBER) then return 'due' end",
        "",
        "archive-due",
    ),
    "evict of what runs": (
        "archive_evict",
        "> now then return 'running' end",
        "> now then return 'due' end",
        "archive-due",
    ),
    "evict whatever was written": (
        "archive_evict",
        """if #flat ~= #ARGV - 2 then return 'changed' end
for i = 3, #ARGV, 2 do
  if state[ARGV[i]] ~= ARGV[i + 1] then return 'changed' end
end
for i = 6, #KEYS do
  if size(KEYS[i]) ~= a.sizes[i - 5] then return 'changed' end
end
""",
        "",
        "archive-changed",
    ),
    "evict leaves keys": (
        "archive_evict",
        "for i = 6, #KEYS do redis.call('UNLINK', KEYS[i]) end",
        "for i = 9, #KEYS do redis.call('UNLINK', KEYS[i]) end",
        "archived",
    ),
    "evict is not listed": (
        "archive_evict",
        "redis.call('HSET', ARCHIVED,",
        "redis.call('HDEL', ARCHIVED,",
        "archived",
    ),
    "restore onto any stub": ("archive_restore", " or stub[2] ~= a.object then", " then", "restore-another"),
    "restore leaves due": ("archive_restore", "redis.call('ZREM', DUE, MEMBER)", "", "archived"),
    "want of what is here": ("archive_want", "if stub[1] ~= 'archived' then return {0, ''} end", "", "archived"),
    "want is nothing": (
        "archive_want",
        "if not score then redis.call('ZADD', KEYS[2], string.format('%d', now), ARGV[1]) end",
        "",
        "archived",
    ),
    "purge of any life": ("archive_purge", " or stub[2] ~= ARGV[2] then", " then", "archived-purged-by-another-life"),
    "purge leaves due ": ("archive_purge", "redis.call('ZREM', DUE, ARGV[1])", "", "archived-purged"),
    "purge leaves no number": ("archive_purge", "'incarnation', ARGV[2], ", "", "archived-purged"),
    "what is away counts": (
        "archive_evict",
        "redis.call('HINCRBY', tenant .. ':usage', 'bytes', -tonumber(counted or 0))",
        "",
        "archived",
    ),
    "what is back does not count": (
        "archive_restore",
        "redis.call('HSET', tenant .. ':sizes', MEMBER, bytes)",
        "",
        "archived",
    ),
    "forget what is there": (
        "archive_forget",
        "if stub[1] == 'archived' and stub[2] == ARGV[2] then return 0 end",
        "",
        "archived-lapsed",
    ),
    "forget nothing": (
        "archive_forget",
        "if stub[1] == 'archived' and stub[2] == ARGV[2] then return 0 end",
        "if true then return 0 end",
        "archived-lapsed",
    ),
    "evict forgets an earlier life's object": (
        "archive_evict",
        "redis.call('ZADD', TRASH, string.format('%d', now), entry.object)",
        "",
        "archived-lapsed-again",
    ),
    "forget a later life's entry": (
        "archive_forget",
        "and entry.object == ARGV[2] then",
        "then",
        "archived-lapsed-again",
    ),
}
