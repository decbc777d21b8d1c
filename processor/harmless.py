"""Text from outside, as a person may be shown it."""

LONGEST_FIELD = 200


def harmless(text: str, most: int = LONGEST_FIELD) -> str:
    """The text with nothing in it that a terminal obeys: control and format characters (escape sequences, changes of
    writing direction, line breaks) are written as escapes, and what is too long is cut."""
    cut = text if len(text) <= most else text[: most - 1] + "…"
    return "".join(c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in cut)
