"""`acceptance`: the command line. Exit codes: 0 good, 1 found something, 2 usage, 64 and above as in sysexits.

Nothing heavy is imported before it is known what to run.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from processor.settings import Settings


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = argparse.ArgumentParser(
        prog="acceptance",
        description="Recomputes the acceptance of recorded runs on each signal, and tells of late reverts.",
        epilog="Settings come from the environment; the README lists them.",
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    worker = commands.add_parser("worker", help="the stream processor")
    worker.add_argument(
        "--no-transactions",
        action="store_true",
        help="for brokers that have none, as the embedded one: at least once, nothing more is promised",
    )
    topics = commands.add_parser("topics", help="show what topics are needed, make them, check them")
    topics.add_argument("action", choices=("plan", "apply", "check"))
    topics.add_argument("--json", action="store_true", help="print JSON")
    replay = commands.add_parser("replay", help="the same pipeline on a file, with no broker")
    replay.add_argument("file", metavar="FILE", help="JSON Lines, also .gz; - for standard input")
    replay.add_argument("--output", metavar="FILE", help="where to write (standard output when absent)")
    produce = commands.add_parser("produce", help="put such a file on the broker")
    produce.add_argument("file", metavar="FILE", help="JSON Lines, also .gz; - for standard input")
    watch = commands.add_parser("watch", help="print changes as they come")
    watch.add_argument("--reversed", action="store_true", help="only alerts and their resolution")
    watch.add_argument("--run", metavar="ID", help="only this run")
    watch.add_argument("--from-beginning", action="store_true", help="first what the topic still holds")
    watch.add_argument("--json", action="store_true", help="print JSON, one change a line")
    commands.add_parser("demo", help="a real repository's history on an embedded broker")
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command; returns its exit code."""
    args = parser().parse_args(argv)
    try:
        return _with_settings(args)
    except KeyboardInterrupt:
        return 130  # as shells have it
    except BrokenPipeError:  # whoever read our output has gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return os.EX_OK


def _with_settings(args: argparse.Namespace) -> int:
    from pydantic import ValidationError

    from processor.settings import Settings

    try:
        settings = Settings()
    except ValidationError as error:
        for found in error.errors(include_url=False):
            name = "_".join(map(str, found["loc"])).upper()
            print(f"acceptance: {name}={found['input']!r}: {found['msg']}; correct this setting", file=sys.stderr)
        return os.EX_CONFIG
    return _run(args, settings)


def _run(args: argparse.Namespace, settings: "Settings") -> int:
    match args.command:
        case "worker":
            from processor.engine.worker import run
            from processor.pipelines import pipelines

            return run(settings, pipelines(settings), transactions=not args.no_transactions)
        case "replay":
            from processor import replay

            return replay.main(args.file, args.output, settings)
        case "topics":
            from processor import topics_admin

            return topics_admin.main(args, settings)
        case "produce":
            from processor import produce

            return produce.main(args, settings)
        case "watch":
            from processor import watch

            return watch.main(args, settings)
        case _:
            from processor import demo

            return demo.main(args, settings)
