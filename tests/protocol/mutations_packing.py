"""Deliberately broken scripts around `pack` and `unpack`: (script, old text, new text, trace)."""

from __future__ import annotations

LIFE = "if gone(a.incarnation) then return reply('gone') end"

PACKING_MUTATIONS: dict[str, tuple[str, ...]] = {
    "hashes of packed entries are another's": ("", "hex(marks(n - 1, n))", "hex(marks(n, n + 1))", "pack-tail"),
    "hashes are those of the list alone": ("", "if n <= num('base') then", "if false then", "pack-tail"),
    "the list begins with the log": (
        "",
        "'LINDEX', LOG, n - 1 - num('base')",
        "'LINDEX', LOG, n - 1",
        "pack-tail-behind",
    ),
    "pages begin with the log": ("", "from - num('base'), to - 1 - num('base')", "from, to - 1", "pack-read"),
    "one pack is all": ("", "and taken < bytes", "and taken == 0 and first == 0", "pack-read"),
    "sync skips packs": (
        "sync",
        "and packed(start, num('base'), a.limit_bytes / 4) or {}",
        "and {} or {}",
        "pack-read",
    ),
    "jobs skip packs": ("slice", "if a.start < base then", "if false then", "pack-read"),
    "a log with packs is torn": ("record", "(whole and base or 0)", "0", "pack-record"),
    "pack of any items": ("pack", "~= a.sha then", "== '' then", "pack-redacted"),
    "pack of the last message": ("pack", "upto >= length", "upto > length", "pack-last"),
    "pack in any life": ("pack", LIFE, "", "pack-other-life"),
    "pack leaves the list": ("pack", "redis.call('LTRIM', LOG, upto - base, -1)", "", "pack-read"),
    "pack puts hashes in front": ("pack", "MARK * base, hashes", "0, hashes", "pack-read"),
    "packed sessions look as before": ("pack", "'v', 2", "'v', 1", "pack-read"),
    "pack saves nothing": ("pack", "'saved', text(saved)", "'saved', 0", "pack-read"),
    "packs have no end": ("pack", "left > 0 and", "left > 0 and {} or", "pack-expiry"),
    "pack starts the TTL": ("pack", "text(now + left)", "text(now + num('ttl'))", "pack-expiry"),
    "packs end before the rest": ("", "OPSQ, CHUNKSQ, PACKS, MARKS}", "OPSQ, CHUNKSQ}", "pack-record"),
    "a purge leaves packs": ("purge", "CHUNKSQ, PACKS, MARKS)", "CHUNKSQ)", "pack-purge"),
    "a new life begins on packs": ("record", "CHUNKSQ, PACKS, MARKS)", "CHUNKSQ)", "pack-lapse-partly"),
    "redact of what is packed": ("redact", "if first < num('base') then", "if false then", "pack-redact"),
    "unpack in any life": ("unpack", LIFE, "", "unpack-other-life"),
    "unpack of any pack": ("unpack", "first + count ~= base or", "", "unpack-older"),
    "unpack in another order": ("unpack", "for i = count, 1, -1 do", "for i = 1, count do", "unpack-some"),
    "unpack keeps the pack": ("unpack", "redis.call('HDEL', PACKS, first)", "", "unpack-some"),
    "unpack keeps hashes": ("unpack", "redis.call('SET', MARKS, marks(0, first), 'KEEPTTL')", "", "unpack-some"),
    "unpack saves still": ("unpack", "num('saved') - bytes + #pack + #hashes", "num('saved')", "unpack-some"),
    "unpacked sessions stay apart": ("unpack", "redis.call('HSET', META, 'v', 1)", "", "pack-narrow"),
    "unpacked hashes have no end": ("unpack", ", 'KEEPTTL'", "", "unpack-some"),
}
