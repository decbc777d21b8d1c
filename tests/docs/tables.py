"""The tables of the docs that come from the code. `python -m tests.docs.tables` writes them."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path

from processor.settings import Settings
from tests.faults.faults import FAULTS
from tests.faults.mutants import MUTANTS
from tests.faults.test_mutants import CAUGHT
from tests.security.roles import ROLES

REPOSITORY = Path(__file__).parents[2]
README = REPOSITORY / "README.md"


def settings_table() -> str:
    """A row for each setting: the variable, its default, what it is for."""
    rows = ["| variable | default | |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        default = "" if field.default in (None, "") else f"`{field.default}`"
        rows.append(f"| `{name.upper()}` | {default} | {field.description} |")
    return "\n".join(rows) + "\n"


def permissions_table() -> str:
    """A row for each operation that a program needs: who, on what, and why."""
    rows = ["| who | resource | operation | why |", "|---|---|---|---|"]
    for role in ROLES.values():
        for (resource, operation), why in role.why.items():
            found = [p.name for p in role.needed(Settings()) if (p.resource, p.operation) == (resource, operation)]
            names = ", ".join(f"`{name}`" for name in found)
            rows.append(f"| {role.who} | {resource} {names} | {operation} | {why} |")
    return "\n".join(rows) + "\n"


def faults_table() -> str:
    """A row for each fault of `make faults`."""
    rows = ["| fault | |", "|---|---|"]
    rows += [f"| `{name}` | {first_line(fault)} |" for name, fault in FAULTS.items()]
    return "\n".join(rows) + "\n"


def mutants_table() -> str:
    """A row for each guarantee that is taken out: what it is, under which fault, and what the verifier then says."""
    rows = ["| mutant | | under | broken |", "|---|---|---|---|"]
    for name, scenario, seen in CAUGHT:
        rows.append(f"| `{name}` | {first_line(MUTANTS[name])} | {first_line(scenario)} | {', '.join(sorted(seen))} |")
    return "\n".join(rows) + "\n"


def first_line(function: Callable[..., object]) -> str:
    """What a function's docstring says first."""
    return (inspect.getdoc(function) or "").partition("\n")[0]


TABLES: dict[tuple[Path, str], Callable[[], str]] = {
    (README, "settings"): settings_table,
    (REPOSITORY / "docs/security.md", "permissions"): permissions_table,
    (REPOSITORY / "docs/reliability.md", "faults"): faults_table,
    (REPOSITORY / "docs/reliability.md", "mutants"): mutants_table,
}


def with_table(text: str, name: str, table: str) -> str:
    """The text with the table between its markers."""
    found = re.compile(f"(<!-- {name} -->\n).*?(<!-- /{name} -->\n)", re.DOTALL)
    return found.sub(lambda match: f"{match[1]}{table}{match[2]}", text)


if __name__ == "__main__":
    for (path, name), made in TABLES.items():
        path.write_text(with_table(path.read_text(encoding="utf-8"), name, made()), encoding="utf-8")
