"""The verifier is a second opinion."""

import subprocess
import sys

from tests.broker import REPOSITORY


def test_it_shares_no_code_with_the_processor() -> None:
    """Nothing that it imports, and nothing that those import, is the processor's or uses its Kafka client."""
    script = "import sys, tests.faults.verifier; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    roots = {name.partition(".")[0] for name in done.stdout.split()}
    assert roots.isdisjoint({"processor", "aiokafka", "faust"})
    assert "confluent_kafka" in roots
