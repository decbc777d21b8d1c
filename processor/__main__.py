"""`python -m processor` is `acceptance`."""

import sys

from processor.cli import main

sys.exit(main())
