"""How deep JSON nests, found without recursion: a parser that gives up on depth cannot say what else is wrong."""

import re
from typing import Final

import orjson

TOKEN: Final = re.compile(rb'[ \t\r\n]*+("(?:[^"\\]++|\\.)*+"|[\[\]{},:]|[^ \t\r\n\[\]{},:"]+)', re.DOTALL)
SPACE: Final = b" \t\r\n"


def is_deeper(found: object, text: bytes, brackets: int, most: int) -> bool:
    """Whether the text that was read as `found` nests over `most` levels; `brackets` is how many it opens at most."""
    level: list[object] = [found]
    seen = depth = 0
    while level := [item for item in level if isinstance(item, dict | list)]:
        seen += len(level)
        depth += 1
        if depth > most:
            return True
        level = [child for item in level for child in (item.values() if isinstance(item, dict) else item)]
    # brackets inside strings, or under a name that comes twice, are not in what was read: only the text can tell
    return seen < brackets and (levels(text) or 0) > most


def levels(text: bytes) -> int | None:
    """Levels of arrays and objects, the outermost is 1; None for what is not JSON. Time grows with the length alone."""
    open_: list[bytes] = []
    deepest = at = 0
    want = "value"
    while found := TOKEN.match(text, at):
        at, token = found.end(), found[1]
        wanted = _after(want, token, open_)
        if wanted is None:
            return None
        want, deepest = wanted, max(deepest, len(open_))
    return deepest if want == "end" and not text[at:].strip(SPACE) else None


def _after(want: str, token: bytes, open_: list[bytes]) -> str | None:
    """What may follow the token; None when it may not stand here."""
    if token in (b"]", b"}"):
        if not open_ or open_.pop() != token or want not in ("more", "value or ]" if token == b"]" else "key or }"):
            return None
        return "more" if open_ else "end"
    if want == ":":
        return "value" if token == b":" else None
    if want == "more":
        return None if token != b"," else "value" if open_[-1] == b"]" else "key"
    if want in ("key", "key or }"):
        return ":" if token[:1] == b'"' and _is_scalar(token) else None
    if want == "end":
        return None
    if token in (b"[", b"{"):
        open_.append(b"]" if token == b"[" else b"}")
        return "value or ]" if token == b"[" else "key or }"
    if not _is_scalar(token):
        return None
    return "more" if open_ else "end"


def _is_scalar(token: bytes) -> bool:
    try:
        orjson.loads(token)
    except orjson.JSONDecodeError:
        return False
    return True
