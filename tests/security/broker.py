"""A real Apache Kafka that asks who is there: TLS, SCRAM, PLAIN, certificates, and an authorizer.

Whoever comes to its port for plain text may do everything: that is how the tests administer it.
"""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from processor.permissions import Permission
from tests import broker
from tests.security.certificates import Authority
from tests.security.roles import ROLES
from tests.waiting import until

PASSWORD = "canary-5f1d93"  # searched for in all that is printed
USERS = tuple(ROLES)
LISTENERS = ("PLAINTEXT", "SASL_SSL", "SASL_PLAINTEXT", "SSL", "EXPIRED", "ELSEWHERE", "CONTROLLER")
LOGIN = "org.apache.kafka.common.security"

SERVER = """
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{CONTROLLER}
listeners={listeners}
advertised.listeners={advertised}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL,EXPIRED:SSL,ELSEWHERE:SSL
inter.broker.listener.name=PLAINTEXT
sasl.enabled.mechanisms=SCRAM-SHA-512,PLAIN
listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.sasl_ssl.plain.sasl.jaas.config={login}.plain.PlainLoginModule required user_worker="{password}";
listener.name.sasl_plaintext.scram-sha-512.sasl.jaas.config={login}.scram.ScramLoginModule required;
listener.name.sasl_plaintext.plain.sasl.jaas.config={login}.plain.PlainLoginModule required user_worker="{password}";
ssl.keystore.type=PEM
ssl.keystore.location={folder}/broker.store
ssl.truststore.type=PEM
ssl.truststore.location={folder}/ca.pem
listener.name.ssl.ssl.client.auth=required
listener.name.expired.ssl.keystore.type=PEM
listener.name.expired.ssl.keystore.location={folder}/expired.store
authorizer.class.name=org.apache.kafka.metadata.authorizer.StandardAuthorizer
super.users=User:ANONYMOUS
log.dirs={data}
auto.create.topics.enable=true
"""


@dataclass
class Secured:
    """The broker and its authority."""

    ports: dict[str, int]
    authority: Authority

    def servers(self, listener: str, host: str = "localhost") -> str:
        """The address of one of its listeners."""
        return f"{host}:{self.ports[listener]}"

    @cached_property
    def admin(self) -> AdminClient:
        """May do everything."""
        return AdminClient({"bootstrap.servers": self.servers("PLAINTEXT")})

    def environment(self, user: str = "worker", mechanism: str = "SCRAM-SHA-512") -> dict[str, str]:
        """The settings for SASL_SSL, as docs/security.md has them."""
        return {
            "KAFKA_BOOTSTRAP_SERVERS": self.servers("SASL_SSL"),
            "KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
            "KAFKA_SASL_MECHANISM": mechanism,
            "KAFKA_SASL_USERNAME": user,
            "KAFKA_SASL_PASSWORD": PASSWORD,
            "KAFKA_SSL_CA_FILE": str(self.authority.certificate),
        }

    def grant(self, principal: str, permissions: list[Permission]) -> None:
        """Allow it, on top of what is allowed."""
        bindings = [acl(principal, permission) for permission in permissions]
        for future in self.admin.create_acls(bindings).values():
            future.result(20)
        until(lambda: set(bindings) <= self.known(everything_of(principal)), f"the broker knows what {principal} may")

    def revoke(self, principal: str, permission: Permission | None = None) -> None:
        """Allow it no longer; without a permission, nothing any more."""
        if permission is None:
            asked = everything_of(principal)
        else:
            of = acl(principal, permission)
            pattern = (of.restype, of.name, of.resource_pattern_type)
            asked = AclBindingFilter(*pattern, principal, None, of.operation, of.permission_type)
        for future in self.admin.delete_acls([asked]).values():
            future.result(20)
        until(lambda: not self.known(asked), f"the broker knows what {principal} may no longer")

    def known(self, asked: AclBindingFilter) -> set[AclBinding]:
        """What of it the broker goes by."""
        return set(self.admin.describe_acls(asked).result(20))


def everything_of(principal: str) -> AclBindingFilter:
    """Whatever this one is allowed."""
    kinds = (AclOperation.ANY, AclPermissionType.ANY)
    return AclBindingFilter(ResourceType.ANY, None, ResourcePatternType.ANY, principal, None, *kinds)


def acl(principal: str, permission: Permission) -> AclBinding:
    """A permission as the admin client takes it."""
    resource = {"Topic": "TOPIC", "Group": "GROUP", "TransactionalId": "TRANSACTIONAL_ID"}[permission.resource]
    operation = "DESCRIBE_CONFIGS" if permission.operation == "DescribeConfigs" else permission.operation.upper()
    prefixed = permission.resource == "TransactionalId"
    return AclBinding(
        ResourceType[resource],
        permission.name,
        ResourcePatternType.PREFIXED if prefixed else ResourcePatternType.LITERAL,
        principal,
        "*",
        AclOperation[operation],
        AclPermissionType.ALLOW,
    )


@contextmanager
def secured() -> Iterator[Secured]:
    """The broker; ended when the block is."""
    jars = broker.kafka_jars()
    with tempfile.TemporaryDirectory(prefix="kafka-") as name:
        scratch = Path(name)
        authority = Authority(scratch / "authority")
        for who, days in (("broker", 30), ("expired", -1)):
            certificate, key = authority.give(who, days=days)
            certificate.with_suffix(".store").write_bytes(key.read_bytes() + certificate.read_bytes())
        ports = dict(zip(LISTENERS, broker.free_ports(len(LISTENERS)), strict=True))
        listeners = [f"{listener}://localhost:{port}" for listener, port in ports.items()]
        properties = SERVER.format(
            **ports,
            listeners=",".join(listeners),
            advertised=",".join([*listeners[:-2], listeners[-2].replace("localhost", "127.0.0.1")]),
            login=LOGIN,
            password=PASSWORD,
            folder=authority.folder,
            data=scratch / "data",
        )
        options = [f"--add-scram=SCRAM-SHA-512=[name={user},password={PASSWORD}]" for user in USERS]
        process, _ = broker.start(jars, scratch, properties, ports["PLAINTEXT"], options)
        try:
            yield Secured(ports, authority)
        finally:
            process.kill()
            process.wait()
