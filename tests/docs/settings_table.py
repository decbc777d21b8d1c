"""The README's table of settings, from the settings. `python -m tests.docs.settings_table` writes it."""

from pathlib import Path

from processor.settings import Settings

README = Path(__file__).parents[2] / "README.md"
OPEN, CLOSE = "<!-- settings -->\n", "<!-- /settings -->\n"


def settings_table() -> str:
    """A row for each setting: the variable, its default, what it is for."""
    rows = ["| variable | default | |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, "") else f"`{field.default}`"
        rows.append(f"| `{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def with_table(text: str) -> str:
    """The README's text with the table between its markers."""
    head, _, rest = text.partition(OPEN)
    _, _, tail = rest.partition(CLOSE)
    return f"{head}{OPEN}{settings_table()}{CLOSE}{tail}"


if __name__ == "__main__":
    README.write_text(with_table(README.read_text(encoding="utf-8")), encoding="utf-8")
