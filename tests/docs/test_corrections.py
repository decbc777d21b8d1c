"""docs/corrections.md says what comes of each correction, and it does."""

import json
import re

import pytest

from processor.lines import decode_line
from processor.record import CHANGED
from processor.replay import Replay
from processor.settings import Settings
from tests.docs.tables import REPOSITORY

TEXT = (REPOSITORY / "docs/corrections.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^## ([^\n]+)\n.*?^```jsonl\n(.*?)^```\n\n```text\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)


def test_there_are_five() -> None:
    """None is left out for a slip of the pen."""
    assert len(EXAMPLES) == TEXT.count("```jsonl") == 5


@pytest.mark.parametrize(("given", "said"), [example[1:] for example in EXAMPLES], ids=[name for name, *_ in EXAMPLES])
def test_a_correction_does_what_the_page_says(given: str, said: str) -> None:
    """Transition for transition."""
    replay, changes = Replay(Settings()), []
    for number, text in enumerate(given.splitlines(), 1):
        line = decode_line(text.encode(), number)
        for output in replay.put(line.topic, line.key, line.value, line.timestamp, line.headers):
            if output.topic == CHANGED:
                change = json.loads(output.value or b"")
                changes.append(f"{change['run_id']} {change['transition']}: {change['from']} → {change['to']}")
    assert changes == said.splitlines()
