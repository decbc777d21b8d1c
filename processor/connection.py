"""How brokers are spoken to: the arguments of every Kafka client, and, when none could be spoken to, why not.

Law: what TLS encrypts is only said to a broker whose certificate is trusted and holds the name it was called by.
"""

import asyncio
import os
import ssl
from pathlib import Path
from typing import Any

from aiokafka.conn import collect_hosts, create_conn
from aiokafka.errors import (
    IllegalSaslStateError,
    KafkaError,
    SaslAuthenticationFailed,
    UnsupportedSaslMechanismError,
)
from aiokafka.protocol.metadata import MetadataRequest
from pydantic import SecretStr

from processor.failure import Failure
from processor.settings import Settings

ASK_TIMEOUT_MS = 5_000
OTHER_NAME = (62, 64)  # OpenSSL's X509_V_ERR_HOSTNAME_MISMATCH and X509_V_ERR_IP_ADDRESS_MISMATCH
EXPIRED = (9, 10)  # X509_V_ERR_CERT_NOT_YET_VALID and X509_V_ERR_CERT_HAS_EXPIRED
TLS_ALERT = 0x15  # the first byte of TLS's answer to what is no TLS; aiokafka takes it for the length of a response
PORT = "Is KAFKA_SECURITY_PROTOCOL={} what this port speaks?"


def arguments(settings: Settings) -> dict[str, Any]:
    """The keyword arguments that every aiokafka client is made with. Raises `Failure` when a file does not hold what
    it should."""
    given: dict[str, Any] = {
        "bootstrap_servers": settings.kafka_bootstrap_servers,
        "security_protocol": settings.kafka_security_protocol,
        "ssl_context": _ssl_context(settings) if settings.tls else None,
    }
    if settings.sasl:
        password = _secret("KAFKA_SASL_PASSWORD", settings.kafka_sasl_password, settings.kafka_sasl_password_file)
        given["sasl_mechanism"] = settings.kafka_sasl_mechanism
        given["sasl_plain_username"] = settings.kafka_sasl_username
        given["sasl_plain_password"] = password
    return given


def _secret(name: str, value: SecretStr | None, path: Path | None) -> str:
    """What was given, or what the file holds without the line's end; empty when there is neither."""
    if path is None:
        secret = "" if value is None else value.get_secret_value()
    else:
        name = f"{name}_FILE"
        try:
            secret = path.read_bytes().decode(errors="surrogateescape").rstrip("\r\n")
        except OSError as error:
            raise Failure(os.EX_CONFIG, f"{name} cannot be read: {error.strerror}") from error
        if not secret:
            raise Failure(os.EX_CONFIG, f"{name} names an empty file. Put the password in it")
    if not secret.isprintable():
        raise Failure(os.EX_CONFIG, f"{name} has something else than one line of printable UTF-8. Correct it")
    return secret


def _ssl_context(settings: Settings) -> ssl.SSLContext:
    ca, certificate = settings.kafka_ssl_ca_file, settings.kafka_ssl_certificate_file
    key, key_password = settings.kafka_ssl_key_file, settings.kafka_ssl_key_password
    try:
        context = ssl.create_default_context(cafile=ca)  # which verifies certificates and names
    except OSError as error:
        raise Failure(os.EX_CONFIG, f"KAFKA_SSL_CA_FILE={ca} holds no certificates in PEM ({error})") from error
    if certificate is not None:
        password = _secret("KAFKA_SSL_KEY_PASSWORD", key_password, settings.kafka_ssl_key_password_file)
        try:
            context.load_cert_chain(certificate, key, lambda: password)  # without one OpenSSL would ask the terminal
        except (OSError, ValueError) as error:
            raise Failure(
                os.EX_CONFIG,
                f"KAFKA_SSL_CERTIFICATE_FILE={certificate} and KAFKA_SSL_KEY_FILE={key} are no certificate and its "
                f"key in PEM, or KAFKA_SSL_KEY_PASSWORD is not that key's ({error})",
            ) from error
    return context


async def why_not(settings: Settings) -> Failure:
    """Why brokers cannot be spoken to: each is asked once more, since aiokafka's clients log the reason and drop it."""
    given = arguments(settings)
    todo = [(host, port) for host, port, _ in collect_hosts(given.pop("bootstrap_servers"), randomize=False)]
    failures = []
    for host, port in todo:  # it grows by the brokers that these name
        try:
            brokers = await _ask(host, port, given)
        except (OSError, KafkaError, asyncio.IncompleteReadError) as error:
            failures.append(_failure(error, f"{host}:{port}", settings))
        else:
            todo += [broker for broker in brokers if broker not in todo]
    if not failures:
        return Failure(os.EX_TEMPFAIL, f"{settings.kafka_bootstrap_servers} answered only now. Try again")
    return max(failures, key=lambda failure: failure.code)  # what a person has to mend, before what may pass


async def _ask(host: str, port: int, given: dict[str, Any]) -> list[tuple[str, int]]:
    """The brokers that this one names. A broker that wants a login answers the first question without, but not this."""
    connection = await create_conn(host, port, request_timeout_ms=ASK_TIMEOUT_MS, **given)
    try:
        answer = await connection.send(MetadataRequest([]))
    finally:
        connection.close()
    return [(host, port) for _, host, port, *_ in answer.brokers]


def _failure(error: BaseException, where: str, settings: Settings) -> Failure:
    """The error in a sentence, with the setting to look at."""
    protocol = PORT.format(settings.kafka_security_protocol)
    cause = error.__cause__
    match error:
        case ssl.SSLCertVerificationError():
            return Failure(os.EX_NOPERM, _untrusted(error, where))
        case ssl.SSLError() if "CERTIFICATE" in (error.reason or "") or "UNKNOWN_CA" in (error.reason or ""):
            return Failure(
                os.EX_NOPERM,
                f"{where} does not take our certificate, or wants one ({error.reason}). Look at "
                "KAFKA_SSL_CERTIFICATE_FILE and KAFKA_SSL_KEY_FILE",
            )
        case SaslAuthenticationFailed():
            return Failure(
                os.EX_NOPERM,
                f"{where} does not let {settings.kafka_sasl_username} in: unknown user, wrong password, or a user "
                "without this mechanism. Look at KAFKA_SASL_USERNAME, KAFKA_SASL_PASSWORD and "
                f"KAFKA_SASL_MECHANISM={settings.kafka_sasl_mechanism}",
            )
        case UnsupportedSaslMechanismError():
            return Failure(
                os.EX_CONFIG,
                f"{where} does not offer KAFKA_SASL_MECHANISM={settings.kafka_sasl_mechanism}. Set another",
            )
        case IllegalSaslStateError():
            return Failure(os.EX_CONFIG, f"{where} wants no login (SASL). {protocol}")
        case ssl.SSLError(reason="WRONG_VERSION_NUMBER"):
            return Failure(os.EX_CONFIG, f"{where} does not speak TLS. {protocol}")
        case asyncio.IncompleteReadError(expected=int(length)) if length >> 24 == TLS_ALERT:
            return Failure(os.EX_CONFIG, f"{where} speaks TLS. {protocol}")
        case KafkaError() if cause is not None:  # the connection was closed, because of that
            return _failure(cause, where, settings)
        case ssl.SSLError() | asyncio.IncompleteReadError() | ConnectionResetError() | BrokenPipeError() | KafkaError():
            return Failure(os.EX_UNAVAILABLE, f"{where} closed the connection without an answer. {protocol}")
        case _:
            return Failure(
                os.EX_UNAVAILABLE,
                f"no broker answers at {where}. Is it running, and is KAFKA_BOOTSTRAP_SERVERS right?",
            )


def _untrusted(error: ssl.SSLCertVerificationError, where: str) -> str:
    why = error.verify_message
    if error.verify_code in OTHER_NAME:
        return (
            f"the certificate of {where} is for another name ({why}). Write the host in KAFKA_BOOTSTRAP_SERVERS (and "
            "the broker's advertised.listeners) as its certificate has it"
        )
    if error.verify_code in EXPIRED:
        return f"the certificate of {where} is not valid now ({why}). Renew it; KAFKA_SSL_CA_FILE is not the cause"
    return (
        f"the certificate of {where} is not signed by whom we trust ({why}). Does KAFKA_SSL_CA_FILE hold who signed it?"
    )
