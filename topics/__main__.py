"""Writes each topic's `schema.json` from its model; with `--check`, says which are not current and exits with 1."""

import json
import sys
from pathlib import Path

from topics import TOPICS


def schema(topic: str) -> str:
    """The JSON Schema (2020-12) of the topic's value; of the added headers for the dead letters."""
    module = TOPICS[topic]
    generated = module.RECORD.json_schema(by_alias=True, ref_template="#/$defs/{model}")
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:ocp-acceptance:topic:{topic}",
        "title": topic,
        "description": (module.__doc__ or "").split("\n\n")[0].replace("\n", " "),
    }
    return json.dumps({**generated, **head}, indent=2, ensure_ascii=False) + "\n"


def main(check: bool) -> int:
    """Returns the exit code."""
    stale = []
    for topic, module in TOPICS.items():
        path = Path(str(module.__file__)).with_name("schema.json")
        if check and (not path.exists() or path.read_text(encoding="utf-8") != schema(topic)):
            stale.append(topic)
        elif not check:
            path.write_text(schema(topic), encoding="utf-8")
    if stale:
        print(f"not current: {', '.join(stale)}; run `python -m topics` and commit what it writes", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
