"""A certificate authority of a test: server contexts, client certificates."""

import ssl
import tempfile
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

TLS = {"1.2": ssl.TLSVersion.TLSv1_2, "1.3": ssl.TLSVersion.TLSv1_3}


class Authority:
    def __init__(self, name: str) -> None:
        now = datetime.now(UTC).replace(microsecond=0)
        self.expires_at = now + timedelta(days=30)
        self._from = now - timedelta(hours=1)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _named(name)
        self._certificate = self._signed(self._name, self._key, is_authority=True)
        self.pem = _pem(self._certificate)

    def client(self, name: str) -> tuple[str, str]:
        """Certificate and private key, both PEM."""
        key = ec.generate_private_key(ec.SECP256R1())
        usage = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
        return _pem(self._signed(_named(name), key, usage)), _key_pem(key)

    def server(self, *, name: str = "127.0.0.1", wants_client: bool = False, tls_max: str = "1.3") -> ssl.SSLContext:
        key = ec.generate_private_key(ec.SECP256R1())
        try:
            host: x509.GeneralName = x509.IPAddress(ip_address(name))
        except ValueError:
            host = x509.DNSName(name)
        made = self._signed(_named(name), key, x509.SubjectAlternativeName([host]))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = TLS[tls_max]
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "server.pem"
            file.write_text(_pem(made) + _key_pem(key))
            context.load_cert_chain(file)
        if wants_client:
            context.verify_mode = ssl.CERT_REQUIRED
            context.load_verify_locations(cadata=self.pem)
        return context

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePrivateKey,
        extension: x509.ExtensionType | None = None,
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        made = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(self._from)
            .not_valid_after(self.expires_at)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        if extension is not None:
            made = made.add_extension(extension, critical=False)
        return made.sign(self._key, hashes.SHA256())


def _named(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode()


def _key_pem(key: ec.EllipticCurvePrivateKey) -> str:
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return key.private_bytes(*form).decode()
