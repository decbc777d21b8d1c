"""A worker process for tests: the product's engine, on the real pipelines or on the toy one, with a break or slowed.

    python -m tests.e2e.worker [--toy] [--no-transactions] [--break NAME]... [--slow SECONDS]

Nothing of this is in the product: a break replaces one of its functions in this process.
"""

import argparse
import sys

from processor.engine.worker import run
from processor.pipelines import pipelines
from processor.settings import Settings
from tests.e2e import breaks, toy


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--toy", action="store_true")
    parser.add_argument("--no-transactions", action="store_true")
    parser.add_argument("--break", dest="broken", action="append", default=[], choices=sorted(breaks.BREAKS))
    parser.add_argument("--slow", type=float, default=0.0, help="seconds each batch waits to be published")
    parser.add_argument("--slow-seek", type=float, default=0.0, help="seconds from placing to seeking")
    args = parser.parse_args()
    for name in args.broken:
        breaks.BREAKS[name]()
    if args.slow:
        breaks.slow(args.slow)
    if args.slow_seek:
        breaks.slow_seek(args.slow_seek)
    settings = Settings()
    chosen = [toy.PIPELINE] if args.toy else pipelines(settings)
    return run(settings, chosen, transactions=not args.no_transactions)


if __name__ == "__main__":
    sys.exit(main())
