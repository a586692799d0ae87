"""Read the certificate of a TLS connection into plain facts. Safe for anything a peer presents."""

import ssl
from datetime import datetime
from typing import Any

from mainspring.domain.text import clean_text
from mainspring.outbound.kinds.call import CallFault

NAMES_MAX = 100
NAME_CHARS_MAX = 300
CHAIN_MAX = 10
DAY_S = 86_400


def certificate_facts(connection: ssl.SSLObject | ssl.SSLSocket, now: datetime) -> dict[str, Any]:
    """Version, cipher, and the peer's certificate: subject, issuer, names, dates, days left."""
    cipher = connection.cipher()
    facts: dict[str, Any] = {"version": connection.version(), "cipher": cipher[0] if cipher else None}
    der = connection.getpeercert(binary_form=True)
    return facts | (facts_of(der, now) if der else {})


def facts_of(der: bytes, now: datetime) -> dict[str, Any]:
    from cryptography import x509
    from cryptography.hazmat.primitives.hashes import SHA256

    try:
        certificate = x509.load_der_x509_certificate(der)
        until = certificate.not_valid_after_utc
        since = certificate.not_valid_before_utc
        issuer, subject = certificate.issuer.rfc4514_string(), certificate.subject.rfc4514_string()
        fingerprint = certificate.fingerprint(SHA256()).hex()
    except (ValueError, TypeError) as fault:
        return {"certificate_error": clean_text(str(fault), NAME_CHARS_MAX)}
    left = until - now
    return {
        "subject": clean_text(subject, NAME_CHARS_MAX),
        "issuer": clean_text(issuer, NAME_CHARS_MAX),
        "names": _names(certificate),
        "not_before": since.isoformat(),
        "not_after": until.isoformat(),
        "days_left": int(left.total_seconds() // DAY_S),
        "fingerprint": fingerprint,
    }


def chain_facts(connection: ssl.SSLObject | ssl.SSLSocket, now: datetime) -> list[dict[str, Any]]:
    """The certificates that the peer sent, in short. Python before 3.13 has them behind a private name."""
    public = getattr(connection, "get_unverified_chain", None)
    ders: list[bytes] = []
    if public is not None:
        ders = list(public())
    elif (inner := getattr(getattr(connection, "_sslobj", None), "get_unverified_chain", None)) is not None:
        ders = [ssl.PEM_cert_to_DER_cert(each.public_bytes()) for each in inner() or ()]
    found = [facts_of(der, now) for der in ders[:CHAIN_MAX]]
    return [{key: each[key] for key in ("subject", "issuer", "days_left") if key in each} for each in found]


def _names(certificate: Any) -> list[str]:
    from cryptography import x509

    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        names = [str(each.value) for each in found if isinstance(each, (x509.DNSName, x509.IPAddress))]
    except (x509.ExtensionNotFound, x509.DuplicateExtension, ValueError, TypeError):
        return []
    return [clean_text(name, NAME_CHARS_MAX) for name in names[:NAMES_MAX]]


def tls_fault(fault: Exception) -> CallFault:
    """Why a handshake failed, as a message."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return CallFault("tls", f"the certificate is refused: {fault.verify_message or fault.reason}")
    if isinstance(fault, ssl.SSLError):
        return CallFault("tls", f"the TLS handshake failed: {fault.reason or fault}")
    return CallFault("tls", f"the connection closed during the TLS handshake: {fault}")
