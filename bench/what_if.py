"""How long `acceptance what-if` takes over so many runs.

python -m bench.what_if [--rows 100000]
"""

import argparse
import json
import tempfile
import time
from pathlib import Path

from bench.restore import fill
from tests.broker import kafka
from tests.commands.cli import acceptance
from tests.e2e.world import World

RULE = {"name": "strict", "definition": "d", "requires": ["tests", "review", "security"], "window_days": 30}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.what_if")
    parser.add_argument("--rows", type=int, default=100_000)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="bench-") as scratch, kafka() as servers:
        world = World(servers, Path(scratch))
        world.create()
        fill(world, args.rows)
        rule = Path(scratch) / "rule.json"
        rule.write_text(json.dumps(RULE))
        began = time.monotonic()
        done = acceptance(world.settings, "what-if", "--rule", str(rule), "--json")
        seconds = time.monotonic() - began
        assert json.loads(done.stdout)["runs"] == args.rows, done.stderr
        print(f"{args.rows:,} runs in {seconds:.1f} s")


if __name__ == "__main__":
    main()
