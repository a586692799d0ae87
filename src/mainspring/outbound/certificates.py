"""Read certificates: those that a tenant gives a connection, and the one that a target presents."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime

from cryptography import x509
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_private_key

from mainspring.domain.errors import InvalidInput
from mainspring.domain.run import Certificate
from mainspring.domain.text import clean_text

NAME_CHARS_MAX = 300
_DAY = "%b %d %H:%M:%S %Y GMT"


def check_certificates(ca: str, certificate: str, key: str) -> None:
    """Raises InvalidInput if a text is not what libcurl can use; "" is not checked. No message shows the key."""
    if ca:
        _certificates(ca, "ca")
    chain = _certificates(certificate, "client_certificate") if certificate else []
    if not key:
        return
    try:
        private = load_pem_private_key(key.encode(), None)
    except TypeError:
        raise InvalidInput(
            "client_key is encrypted with a passphrase; store it without one: `openssl pkey -in FILE` removes it",
            field="client_key",
        ) from None
    except Exception:  # of many kinds; none of them may show a part of the key
        raise InvalidInput(
            "client_key is not a private key that can be read; give it as PEM, as `openssl pkey` prints it",
            field="client_key",
        ) from None
    public = (Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    if chain and chain[0].public_key().public_bytes(*public) != private.public_key().public_bytes(*public):
        raise InvalidInput(
            "client_key does not belong to the first certificate in client_certificate; give the two of one pair, "
            "the certificate before its intermediates",
            field="client_key",
        )


def certificate_of(chain: Sequence[Sequence[tuple[str, str]]] | None, now: datetime) -> Certificate | None:
    """The first certificate of libcurl's CERTINFO; None without TLS."""
    if not chain:
        return None
    fields = dict(chain[0])
    expires_at = _read_day(fields.get("Expire date", ""))
    return Certificate(
        clean_text(fields.get("Subject", ""), NAME_CHARS_MAX),
        clean_text(fields.get("Issuer", ""), NAME_CHARS_MAX),
        expires_at,
        None if expires_at is None else (expires_at - now) // timedelta(days=1),
    )


def _certificates(text: str, field: str) -> list[x509.Certificate]:
    try:
        return x509.load_pem_x509_certificates(text.encode())
    except ValueError:
        raise InvalidInput(
            f"{field} contains a certificate that cannot be read; give it as PEM, as `openssl x509` prints it",
            field=field,
        ) from None


def _read_day(text: str) -> datetime | None:
    try:
        return datetime.strptime(text, _DAY).replace(tzinfo=UTC)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(text).astimezone(UTC)
    except (TypeError, ValueError):
        return None
