"""Broken scripts for what ends, fills or damages a session: what to replace, and the trace that notices it."""

from __future__ import annotations

BOUNDS_MUTATIONS = {
    # name: (script, "" for all; old; new; trace)
    "no number of an expired life": (
        "",
        "if #flat == 0 then s.incarnation = redis.call('GET', LIFE) or nil end",
        "",
        "next-life",
    ),
    "life not kept": ("", "redis.call('SET', LIFE, num('incarnation'), 'PX', ttl + LIFE_KEPT)", "", "next-life"),
    "purge leaves the number": (
        "purge",
        "redis.call('UNLINK', META, LIFE)",
        "redis.call('UNLINK', META)",
        "purged-twice",
    ),
    "writes do not prolong": ("", "if written and alive() then prolong() end", "", "lapsed"),
    "generations do not end": ("", "if number then names[#names + 1] = payload(number) end", "", "lost"),
    "chunks do not end": ("", "  written = true\n  redis.call('LREM'", "  redis.call('LREM'", "chunk-prolongs"),
    "claim leaves an expired session due": ("claim", "if not alive() then unlist() end", "", "lapsed"),
    "unlist of a living session": ("unlist", "if not alive() then unlist() end", "unlist()", "lists-of-the-living"),
    "unlist leaves due": ("", "local function unlist()\n  clear_due()", "local function unlist()", "lapsed-due"),
    "unlist leaves the dead letter": ("", "  redis.call('HDEL', DEAD, MEMBER)\nend", "end", "lapsed-parked"),
    "a life begins due": ("", "return not newborn and redis.call", "return redis.call", "next-life"),
    "a life begins listed": ("record", "  unlist()\n", "", "lapsed-parked-begins"),
    "a life begins with another's": ("record", "  wipe()\n", "", "lapsed-partly"),
    "replies of another life": (
        "",
        "return alive() and redis.call('HGET', OPS, a.op)",
        "return redis.call('HGET', OPS, a.op)",
        "lapsed-partly",
    ),
    "purge of an expired session leaves due": ("purge", "  wipe()\n  unlist()\n", "  wipe()\n", "lapsed-purged"),
    "record over the quota": (
        "record",
        "if bytes > 0 and full(bytes) then return overfull(bytes) end",
        "",
        "full",
    ),
    "amend over the quota": ("undo", "if bytes > 0 and full(bytes) then return overfull(bytes) end", "", "full"),
    "amend uncounted": ("undo", "if bytes > 0 then weigh(bytes, length) end", "", "full-amended"),
    "records uncounted": ("record", "weigh(bytes, length + #fresh)", "", "full"),
    "configure keeps the quota": ("configure", "if a.limits then bounded(a.limits) end", "", "full"),
    "mend of what is there": ("mend", "if number and not there(number) then", "if number then", "nothing-lost"),
    "mend keeps the epoch": ("mend", "set('epoch', a.nonce)", "", "lost-during"),
    "mend keeps the view's name": ("mend", "  turn(a.nonce)\n", "", "lost"),
    "mend keeps the entry": ("mend", "s[field] = nil", "", "lost-two"),
    "mend to the transcript": ("mend", "number = lost[number].replaces", "number = 0", "lost"),
    "mend leaves in force": ("mend", "set('adopted', nearest(num('adopted')))", "", "lost"),
    "mend leaves current": ("mend", "set('current', nearest(num('current')))", "", "lost"),
    "mend breaks the line": ("mend", "set(field, cjson.encode(g))", "", "lost-between"),
    "mend asks for nothing": ("mend", "local ring = ask()", "local ring = false", "lost-first"),
    "rollback to a lost one": ("rollback", "not there(a.target)", "not gen(a.target)", "lost-target"),
    "deferred counts": ("finish", "set('attempts', math.max(num('attempts') - 1, 0))", "", "deferred"),
    "deferred is done": ("finish", "or a.outcome == 'deferred'\nif", "\nif", "deferred"),
}
