"""The tables of the docs are those of the code."""

from pathlib import Path

import pytest

from tests.docs.tables import TABLES, with_table


@pytest.mark.parametrize(("path", "name"), TABLES, ids=[name for _, name in TABLES])
def test_a_table_is_current(path: Path, name: str) -> None:
    """`python -m tests.docs.tables` writes it."""
    text, table = path.read_text(encoding="utf-8"), TABLES[path, name]()
    assert table in text
    assert with_table(text, name, table) == text
