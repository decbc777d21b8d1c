"""`acceptance config`: the settings in force; and what is wrong with settings, in sentences.

Law: a secret is never shown.
"""

import argparse
import json
from collections.abc import Iterator

from pydantic import SecretStr, ValidationError

from processor.harmless import harmless
from processor.settings import Settings

LONGEST_VALUE = 2_000
MASK = "***"
SECRETS = frozenset({"KAFKA_SASL_PASSWORD", "KAFKA_SSL_KEY_PASSWORD"})


def shown(settings: Settings) -> dict[str, str | int | float | bool | None]:
    """Each setting by its variable's name; None for one that is not set."""
    values = ((name.upper(), getattr(settings, name)) for name in Settings.model_fields)
    return {
        name: MASK if isinstance(value, SecretStr) else value if isinstance(value, int | float | None) else str(value)
        for name, value in values
    }


def main(args: argparse.Namespace, settings: Settings) -> int:
    """A line each, or one JSON object."""
    if args.json:
        print(json.dumps(shown(settings), indent=2))
    else:
        for name, value in shown(settings).items():
            print(f"{name}={'' if value is None else harmless(str(value), LONGEST_VALUE)}")
    return 0


def refusals(error: ValidationError) -> Iterator[str]:
    """What is wrong, a sentence each."""
    for found in error.errors(include_url=False):
        why = found["msg"].removeprefix("Value error, ")
        name = "_".join(map(str, found["loc"])).upper()
        if not name:  # some settings do not go together
            yield why
        else:
            given = MASK if name in SECRETS else harmless(repr(found["input"]))
            yield f"{name}={given}: {why}; correct this setting"
