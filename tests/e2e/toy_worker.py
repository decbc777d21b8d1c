"""A worker process on the toy pipeline; settings from the environment. `--no-transactions` as the product has it."""

import logging
import sys

from processor.engine.worker import run
from processor.settings import Settings
from tests.e2e.toy import PIPELINE

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s %(message)s")
for noisy in ("faust", "mode", "aiokafka"):
    logging.getLogger(noisy).setLevel(logging.WARNING)
sys.exit(run(Settings(), [PIPELINE], transactions="--no-transactions" not in sys.argv))
