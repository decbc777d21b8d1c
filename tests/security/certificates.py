"""A certificate authority for the tests, and the certificates that it gives out."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PEM, PKCS8 = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8


@dataclass
class Authority:
    """Signs certificates. `certificate` is the file with its own."""

    folder: Path
    key: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def __post_init__(self) -> None:
        self.folder.mkdir()
        self.name = named("the tests' authority")
        made = self._builder(self.name, self.key, 365).add_extension(x509.BasicConstraints(True, None), critical=True)
        made = made.add_extension(x509.SubjectKeyIdentifier.from_public_key(self.key.public_key()), critical=False)
        self.certificate = self.folder / "ca.pem"
        self.certificate.write_bytes(made.sign(self.key, hashes.SHA256()).public_bytes(PEM))

    def give(self, name: str, host: str = "localhost", days: int = 30, password: str = "") -> tuple[Path, Path]:
        """The files of a certificate for this name and host, and of its key. Negative days: it has expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        made = self._builder(named(name), key, days)
        made = made.add_extension(x509.SubjectAlternativeName([x509.DNSName(host)]), critical=False)
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        signed = made.add_extension(issuer, critical=False).sign(self.key, hashes.SHA256())
        certificate, secret = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        certificate.write_bytes(signed.public_bytes(PEM))
        how = serialization.BestAvailableEncryption(password.encode()) if password else serialization.NoEncryption()
        secret.write_bytes(key.private_bytes(PEM, PKCS8, how))
        return certificate, secret

    def _builder(self, subject: x509.Name, key: ec.EllipticCurvePrivateKey, days: int) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return x509.CertificateBuilder(
            issuer_name=self.name,
            subject_name=subject,
            public_key=key.public_key(),
            serial_number=x509.random_serial_number(),
            not_valid_before=now - timedelta(days=60),
            not_valid_after=now + timedelta(days=days),
        )


def named(name: str) -> x509.Name:
    """A subject or an issuer."""
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
