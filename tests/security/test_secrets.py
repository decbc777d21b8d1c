"""The password is nowhere in what is printed or logged, whatever goes wrong. `Here` looks after each command and worker
of the other tests too."""

import pytest

from processor import cli
from tests.security.conftest import Here

COMMANDS = {
    "config": ("config",),
    "config --json": ("config", "--json"),
    "topics": ("topics", "check"),
    "replay": ("replay", "none.jsonl"),
    "produce": ("produce", "none.jsonl"),
    "watch": ("watch",),
    "explain": ("explain", "run_1"),
    "what-if": ("what-if", "--rule", "demo/none.json"),
    "dead-letters": ("dead-letters", "list"),
    "worker": ("worker",),
}
TROUBLE = {
    "nothing may be done": {"KAFKA_SASL_USERNAME": "subscriber"},
    "the password is wrong": {"KAFKA_SASL_MECHANISM": "PLAIN"},
}


def test_every_command_is_here() -> None:
    """`demo` takes no setting of connections."""
    [commands] = [a.choices for a in cli.parser()._actions if a.choices]
    assert {args[0] for args in COMMANDS.values()} | {"demo"} == set(commands)


@pytest.mark.parametrize("trouble", TROUBLE.values(), ids=TROUBLE.keys())
@pytest.mark.parametrize("args", COMMANDS.values(), ids=COMMANDS.keys())
def test_it_is_not_in_what_a_command_prints(args: tuple[str, ...], trouble: dict[str, str], here: Here) -> None:
    """With asyncio's debugging on, and warnings."""
    given = here.kafka.environment("nobody") | trouble | {"PYTHONASYNCIODEBUG": "1", "PYTHONWARNINGS": "always"}
    done = here.run(given, *args)
    assert done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_it_is_not_in_the_log_of_a_defect(mechanism: str, here: Here) -> None:
    """A traceback out of the middle of making a client, with all its arguments at hand."""
    broken = (
        "import sys, aiokafka.client\n"
        "def bootstrap(self): raise RuntimeError(self, self._ssl_context)\n"
        "aiokafka.client.AIOKafkaClient.bootstrap = bootstrap\n"
        "from processor.cli import main\n"
        "sys.exit(main(['worker']))\n"
    )
    done = here.python(here.kafka.environment(mechanism=mechanism), "-c", broken)
    assert done.returncode == 70
    assert "Traceback" in done.stderr
