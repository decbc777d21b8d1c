"""`acceptance`: the command line. Exit codes: 0 good, 1 found something, 2 usage, 64 and above as in sysexits.

Nothing heavy is imported before it is known what to run.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from processor.harmless import harmless

if TYPE_CHECKING:
    from processor.settings import Settings


class Parser(argparse.ArgumentParser):
    """argparse's, which quotes what it does not know as it stands."""

    def error(self, message: str) -> NoReturn:
        """Usage, the mistake in one line, and 2."""
        super().error(harmless(message, 500))


def parser() -> argparse.ArgumentParser:
    """The commands and their options."""
    top = Parser(
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
    replay.add_argument("--now", type=timestamp, metavar="TIME", help="settle what has closed by then")
    replay.add_argument("--output", metavar="FILE", help="where to write (standard output when absent)")
    produce = commands.add_parser("produce", help="put such a file on the broker")
    produce.add_argument("file", metavar="FILE", help="JSON Lines, also .gz; - for standard input")
    watch = commands.add_parser("watch", help="print changes as they come")
    watch.add_argument("--reversed", action="store_true", help="only alerts and their resolution")
    watch.add_argument("--run", metavar="ID", help="only this run")
    watch.add_argument("--from-beginning", action="store_true", help="first what the topic still holds")
    watch.add_argument("--json", action="store_true", help="print JSON, one change a line")
    why = commands.add_parser("explain", help="why a run is what it is")
    why.add_argument("run", metavar="RUN", help="its id")
    why.add_argument(
        "--as-of", type=timestamp, metavar="TIME", help="by what was observed by then (RFC 3339, or a date)"
    )
    why.add_argument("--json", action="store_true", help="print JSON")
    what_if = commands.add_parser("what-if", help="the same runs under another rule; exit code 1 when some flip")
    what_if.add_argument("--rule", type=Path, required=True, metavar="FILE", help="an acceptance_rule, as JSON")
    what_if.add_argument("--since", type=timestamp, metavar="TIME", help="only runs that ended at or after")
    what_if.add_argument("--label", action="append", type=label, metavar="NAME=VALUE", help="only runs with this label")
    what_if.add_argument("--json", action="store_true", help="print JSON")
    _add_dead_letters(commands.add_parser("dead-letters", help="what was set aside and why; put it back in"))
    config = commands.add_parser("config", help="the settings in force, secrets masked")
    config.add_argument("--json", action="store_true", help="print JSON")
    commands.add_parser("demo", help="a real repository's history on an embedded broker")
    return top


def _add_dead_letters(letters: argparse.ArgumentParser) -> None:
    actions = letters.add_subparsers(dest="action", required=True, metavar="ACTION")
    show = actions.add_parser("show", help="one of them, whole")
    show.add_argument("place", metavar="PARTITION:OFFSET", help="as `list` gives it")
    listing = actions.add_parser("list", help="a line each; exit code 1 when there are some")
    redrive = actions.add_parser("redrive", help="back to the topic they came from; without --execute only shown")
    for chosen in (listing, redrive):
        chosen.add_argument("--code", action="append", help="only of this code (may be repeated)")
        chosen.add_argument("--topic", action="append", help="only from this input topic (may be repeated)")
        chosen.add_argument(
            "--since", type=timestamp, metavar="TIME", help="set aside at or after (RFC 3339, or a date)"
        )
        chosen.add_argument("--until", type=timestamp, metavar="TIME", help="set aside before")
    for reading in (show, listing):
        reading.add_argument("--json", action="store_true", help="print JSON")
    redrive.add_argument("--execute", action="store_true", help="write them")
    redrive.add_argument("--rate", type=positive, default=100.0, metavar="N", help="records a second (100)")


def timestamp(text: str) -> int:
    """A time on the command line, in milliseconds since 1970. Raises ValueError."""
    found = datetime.fromisoformat(text)
    return int((found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp() * 1_000)


def label(text: str) -> tuple[str, str]:
    """A label on the command line. Raises ValueError."""
    name, equals, value = text.partition("=")
    if not equals:
        raise ValueError(text)
    return name, value


def positive(text: str) -> float:
    """A number on the command line that is more than 0. Raises ValueError."""
    found = float(text)
    if not 0 < found < float("inf"):
        raise ValueError(text)
    return found


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

    from processor.settings import Settings, unknown

    if names := unknown(os.environ):
        print(f"acceptance: no setting is named {harmless(', '.join(names))}; the README lists them", file=sys.stderr)
        return os.EX_CONFIG
    try:
        settings = Settings()
    except ValidationError as error:
        from processor.config import refusals

        for sentence in refusals(error):
            print(f"acceptance: {sentence}", file=sys.stderr)
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

            return replay.main(args.file, args.output, None if args.now is None else args.now // 1_000, settings)
        case "topics":
            from processor import topics_admin

            return topics_admin.main(args, settings)
        case "produce":
            from processor import produce

            return produce.main(args, settings)
        case "explain" | "what-if":
            from processor import ask

            return ask.main(args, settings)
        case "dead-letters":
            from processor import redrive

            return redrive.main(args, settings)
        case "config":
            from processor import config

            return config.main(args, settings)
        case "watch":
            from processor import watch

            return watch.main(args, settings)
        case _:
            from processor import demo

            return demo.main(args, settings)
