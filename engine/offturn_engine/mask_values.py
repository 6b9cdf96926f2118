"""What a value looks like: a secret somebody generated or chose, or a placeholder, a word, code, a type, a path."""

from __future__ import annotations

import re

_PLACEHOLDER = re.compile(
    r"(?i)[*x.•\u2026#_-]+|<.*>|\$.*|%.*%|%[sdv(].*|\{.*\}?|\[(?:masked|redacted|hidden|filtered).*|"
    r"(?:your|my|the|some|a|an|example|sample|dummy|fake|test|new|old|old_|current|invalid|wrong|bad)?[_-]?(?:app|db|api|user|client|access|auth|secret|root|admin)?[_-]?"
    r"(?:passw(?:or)?d|pass|pwd|passphrase|secret|token|key|api[_-]?key|credentials?)(?:[_-]?(?:here|value|placeholder))?|"
    r"none|null|nil|undefined|true|false|string|str|text|bytes|number|integer|int|bool|boolean|object|required|optional|"
    r"redacted|masked|hidden|removed|filtered|omitted|changeme|change[_-]me|replace[_-]?me|todo|tbd|n/a|empty|unset|missing|"
    r"invalid|incorrect|expired|wrong|example|placeholder|contraseña|clave|secreto|密码|密碼|口令|令牌|密钥"
)
_ALGORITHM = re.compile(
    r"(?i)(?:sha-?\d|md5|base(?:64|32|58)|argon2|bcrypt|scrypt|pbkdf2|aes|rsa|hs\d{3}|rs\d{3}|es\d{3}|ed25519|utf-?(?:8|16)|"
    r"(?:u?int|float|varchar|char|string|uuid)[v(]?\d|oauth-?2|x509|ipv[46]|v\d)"
)
_EXPRESSION = re.compile(r"[A-Za-z_$][\w$]*+(?:(?:\.|->|::)[A-Za-z_$][\w$]*+)++[?!]?|[\w.$]*[(\[{].*")
_PATH = re.compile(
    r"(?:~|\.{1,2})?/[\w.@/-]*|[A-Za-z]:[\\/].*|[a-z][a-z0-9+.-]{1,20}://.*|[\w./-]+\.(?:txt|pem|key|json|ya?ml|env|py|js|ts|go)"
)
_PIECES = re.compile(r"[-_./:@ ]+")
_LETTER = re.compile(r"[^\W\d_]")
_DIGIT = re.compile(r"\d")
_SWITCH = re.compile(r"[a-z][A-Z]|[A-Z]{2}[a-z]")


def is_placeholder(value: str) -> bool:
    """Does it stand for a value: `<token>`, `$TOKEN`, `changeme`, `********`, a mark of ours?"""
    return "[masked:" in value or _PLACEHOLDER.fullmatch(value) is not None or len(set(value)) < 3


def is_code(value: str) -> bool:
    """Is it an expression, a path, a link, or the name of an algorithm or type?"""
    return any(shape.fullmatch(value) for shape in (_EXPRESSION, _PATH)) or _ALGORITHM.match(value) is not None


def is_wordy(value: str) -> bool:
    """Is it made of words with small numbers, like the name of a thing: `db-credentials-2`?"""
    return all(len(piece) <= 3 or (piece.isalpha() and not _SWITCH.search(piece)) for piece in _PIECES.split(value))


def is_random(value: str) -> bool:
    """Letters and digits as no word mixes them, and enough different ones."""
    mixed = _DIGIT.search(value) is not None and _LETTER.search(value) is not None
    return mixed and len(set(value)) >= 8 and not is_placeholder(value) and not is_wordy(value)


def telling(value: str) -> bool:
    """Random, or base64 of a password: case changes inside."""
    return is_random(value) or (len(value) >= 8 and len(_SWITCH.findall(value)) >= 2 and not is_placeholder(value))


def is_password(value: str, *, literal: bool) -> bool:
    """What people choose: 4 characters and more, a digit or sign in it. A `literal` may be a bare lower-case word."""
    if len(value) < 4 or is_placeholder(value) or len(value.split()) > 1 or (value.isdecimal() and len(value) < 6):
        return False
    plain = value.replace("_", "").replace("-", "").replace(".", "")
    if plain.isalpha():
        return (literal and value.isascii() and value.islower() and len(value) >= 5) or len(_SWITCH.findall(value)) >= 2
    return True
