"""Faults of brokers and of the way to them."""

from collections.abc import Callable

from tests.faults.harness import Field, configure
from tests.faults.verifier import OUTPUTS


def broker_killed(here: Field, times: int) -> None:
    """The only broker is killed and comes back. (Stopped cleanly, a lone Kafka can forget to end a transaction.)"""

    def kill(_number: int) -> str:
        here.kafka.restart(0, clean=False)
        return "broker SIGKILL"

    here.strike(times, 2, kill)


def slow_broker(here: Field, times: int) -> None:
    """The broker is stopped for longer than a session, and goes on."""

    def pause(_number: int) -> str:
        here.kafka.nodes[0].pause()
        here.let_pass(4)
        here.kafka.nodes[0].resume()
        return "broker SIGSTOP"

    here.strike(times, 2, pause)


def connections(here: Field, times: int) -> None:
    """The workers' connections are cut, reset, delayed, and held for longer than a session."""
    here.environment["KAFKA_BOOTSTRAP_SERVERS"] = here.kafka.proxied
    [proxy] = [node.proxy for node in here.kafka.nodes]

    def delayed() -> None:
        proxy.delay = 0.3
        here.let_pass(5)
        proxy.delay = 0.0

    def held() -> None:
        proxy.hold(True)
        here.let_pass(5)
        proxy.hold(False)

    kinds: dict[str, Callable[[], object]] = {
        "cut": proxy.cut,
        "reset": lambda: proxy.cut(reset=True),
        "delayed": delayed,
        "held": held,
    }

    def hurt(number: int) -> str:
        name = list(kinds)[number % len(kinds)]
        kinds[name]()
        return f"connections {name}"

    here.strike(times, 2, hurt)


# --- of three nodes ------------------------------------------------------------------------------


def rolling_brokers(here: Field, times: int) -> None:
    """One of three brokers after the other stops and comes back, in turn cleanly and by SIGKILL."""

    def restart(number: int) -> str:
        here.kafka.restart(number % 3, clean=number // 3 % 2 == 0)
        return "one of three"

    here.strike(times, 2, restart)


def controller_lost(here: Field, times: int) -> None:
    """The active controller is killed and comes back."""

    def kill(_number: int) -> str:
        node = here.kafka.leader()
        node.end(clean=False)
        here.await_progress(120)
        node.launch()
        here.kafka.await_up()
        return "controller SIGKILL"

    here.strike(times, 2, kill)


def too_few_in_sync(here: Field, times: int) -> None:
    """Fewer replicas are in sync than the outputs demand, for a while: nothing is written, and then all of it."""
    for topic in OUTPUTS:
        configure(here, here.name(topic), {"min.insync.replicas": "3"})

    def lack(number: int) -> str:
        node = here.kafka.nodes[number % 3]
        node.end(clean=False)
        here.let_pass(here.long_seconds)
        node.launch()
        here.kafka.await_up()
        return "too few in sync"

    here.strike(times, 2, lack)
