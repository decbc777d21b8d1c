"""Who has to be allowed what: docs/security.md shows it, and the tests grant exactly this."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from processor import permissions
from processor.permissions import Permission, on_topics
from processor.record import CHANGED, DEAD_LETTERS, REVERSED, RUNS
from processor.settings import Settings

SUBSCRIBERS_GROUP = "revert-pager"


class Role(NamedTuple):
    """A program on the broker: what it is, what it needs, and why, by resource and operation."""

    who: str
    needed: Callable[[Settings], list[Permission]]
    why: Mapping[tuple[str, str], str]
    command: tuple[str, ...] = ()  # that asks for all of it at its start; none: another program


READ, WRITE, GROUP, IDS = ("Topic", "Read"), ("Topic", "Write"), ("Group", "Read"), ("TransactionalId", "Write")
DESCRIBE, CONFIGS = ("Topic", "Describe"), ("Topic", "DescribeConfigs")
LOOKING = {DESCRIBE: "to see whether they are there", CONFIGS: "to compare their settings"}

ROLES: Mapping[str, Role] = {
    "worker": Role(
        "`acceptance worker`",
        permissions.worker,
        {
            READ: "its inputs, and its state at a takeover",
            WRITE: "its outputs, its state, and what one pipeline has to say to the other",
            GROUP: "to share the partitions among the workers",
            IDS: "to write all that comes of a batch in one transaction (names that begin so)",
        },
    ),
    "check": Role("`acceptance topics plan`, `topics check`", permissions.looking, LOOKING, ("topics", "check")),
    "apply": Role(
        "`acceptance topics apply`", permissions.making, LOOKING | {("Topic", "Create"): "to make what is missing"}
    ),
    "produce": Role(
        "`acceptance produce`; any other producer needs it of its own topics",
        permissions.producing,
        {WRITE: "what is said about runs"},
        ("produce", "records.jsonl"),
    ),
    "watch": Role("`acceptance watch`", lambda s: on_topics(s, "Read", CHANGED), {READ: "the changes"}, ("watch",)),
    "reversed": Role(
        "`acceptance watch --reversed`",
        lambda s: on_topics(s, "Read", REVERSED),
        {READ: "the alerts"},
        ("watch", "--reversed"),
    ),
    "explain": Role(
        "`acceptance explain`",
        lambda s: on_topics(s, "Read", "runs-changelog", CHANGED),
        {READ: "the run's state and history"},
        ("explain", "run_1"),
    ),
    "what-if": Role(
        "`acceptance what-if`",
        lambda s: on_topics(s, "Read", "runs-changelog"),
        {READ: "the state of all runs"},
        ("what-if", "--rule", "rule.json"),
    ),
    "letters": Role(
        "`acceptance dead-letters list`, `show`",
        lambda s: on_topics(s, "Read", DEAD_LETTERS),
        {READ: "what was set aside"},
        ("dead-letters", "list"),
    ),
    "redrive": Role(
        "`acceptance dead-letters redrive`",
        lambda s: [*on_topics(s, "Read", DEAD_LETTERS, RUNS), *permissions.producing(s)],
        {READ: "what was set aside, and whether a newer document is there", WRITE: "to put it back"},
        ("dead-letters", "redrive"),
    ),
    "subscriber": Role(
        "a subscriber, as the README's",
        lambda s: [*on_topics(s, "Read", REVERSED), Permission("Group", "Read", SUBSCRIBERS_GROUP)],
        {READ: "the alerts", GROUP: "its place in them"},
    ),
}
