"""Send email through the operator's SMTP server: `smtp://user:password@host:587` or `smtps://host:465`.

STARTTLS is used if the server offers it, and its certificate is checked. A password is never sent in the clear, except
to this machine. `?tls=never` disables STARTTLS for a server without a valid certificate. Every result is an Outcome
that contains the server's own words, never the password. An email whose text the server had started to read when the
connection broke may have arrived: `LOST`, as opposed to `NOT_SENT`.
"""

import asyncio
import re
import smtplib
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from email.charset import QP, Charset
from email.header import Header, decode_header, make_header
from email.message import Message
from email.policy import compat32
from email.utils import format_datetime, parseaddr
from urllib.parse import parse_qs, unquote, urlsplit

from msgspec import Struct

from mainspring.domain.errors import InvalidInput, Misconfigured
from mainspring.domain.run import Outcome, RunStatus
from mainspring.domain.text import clean_text, spelled_out

TIMEOUT_S = 20.0
NOT_SENT, LOST = "mail", "mail_lost"  # error codes
SUBJECT_MAX = 200
LOCAL = ("localhost", "127.0.0.1", "::1")
SETTING = "MAINSPRING_SMTP_URL"
ADDRESS_MAX = 254  # RFC 5321
AS_IT_IS = compat32.clone(linesep="\r\n")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_UTF8 = Charset("utf-8")
_UTF8.body_encoding = QP
_ADDRESS = re.compile(r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", re.ASCII)


class MailServer(Struct, frozen=True):
    host: str
    port: int
    user: str = ""
    password: str = ""
    implicit_tls: bool = False
    never_tls: bool = False


def read_server(url: str) -> MailServer:
    """The server of a URL. The error message contains nothing of the URL, which may hold a password."""
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _refused() from None
    tls = parse_qs(parts.query).get("tls", [""])[0]
    if parts.scheme not in ("smtp", "smtps") or not host or tls not in ("", "never"):
        raise _refused()
    implicit = parts.scheme == "smtps"
    return MailServer(
        host,
        port or (465 if implicit else 587 if parts.username else 25),
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        implicit,
        tls == "never",
    )


def check_address(address: str, *, field: str = "to") -> None:
    """A single email address: no list, no name, no line break."""
    if not _ADDRESS.fullmatch(address) or len(address) > ADDRESS_MAX or "=?" in address:
        raise InvalidInput(
            f"{field} '{spelled_out(address)[:80]}' is neither an email address nor a URL; write "
            "name@example.com, or https://...",
            field=field,
            value=address[:80],
        )


class Mailer:
    """Sends as `sender`. Without a server every message fails with an error that names the setting."""

    def __init__(self, url: str, sender: str, prefix: str = "[Mainspring] ", *, clock: Callable[[], datetime]) -> None:
        self._server = read_server(url) if url else None
        self._sender = sender
        self._prefix = prefix
        self._clock = clock

    def check(self, to: str) -> None:
        check_address(to)

    async def send(
        self, to: str, title: str, text: str, message_id: str, *, sender: str = "", timeout_s: float = TIMEOUT_S
    ) -> Outcome:
        """`sender` overrides the default; `timeout_s` covers the whole email."""
        if self._server is None:
            return _failed(
                f"no mail server is configured; set {SETTING} to smtp://host:port, and MAINSPRING_MAIL_FROM", 0
            )
        started = time.monotonic()
        try:
            mail = _compose(sender or self._sender, to, self._prefix + title, text, message_id, self._clock())
            await asyncio.to_thread(_deliver, self._server, mail, to, started + timeout_s)
        except _Lost as fault:
            return _failed(f"the connection broke after the email was sent: {fault}", _ms_since(started), LOST)
        except (smtplib.SMTPException, OSError, ssl.SSLError, ValueError) as fault:
            return _failed(_in_words(fault), _ms_since(started))
        return Outcome(RunStatus.SUCCESS, _ms_since(started))


class _Lost(Exception):
    """The server did not confirm whether it accepted the email."""


def _deliver(server: MailServer, mail: Message, to: str, deadline: float) -> None:
    context = ssl.create_default_context()
    timeout_s = _left_s(deadline)
    if server.implicit_tls:
        session: smtplib.SMTP = smtplib.SMTP_SSL(server.host, server.port, timeout=timeout_s, context=context)
    else:
        session = smtplib.SMTP(server.host, server.port, timeout=timeout_s)
    with _leaving(session):
        session.ehlo()
        is_sealed = server.implicit_tls
        if not is_sealed and not server.never_tls and session.has_extn("starttls"):
            session.starttls(context=context)
            session.ehlo()
            is_sealed = True
        if server.user:
            if not is_sealed and server.host not in LOCAL:
                raise ValueError(
                    "the server offers no encryption, and a password is not sent in the clear; use smtps:// or a "
                    "server with STARTTLS"
                )
            session.login(server.user, server.password)
        _hand_over(session, mail, to, deadline)


@contextmanager
def _leaving(session: smtplib.SMTP) -> Iterator[None]:
    """Ends the session and ignores the answer: the result of the email is known by then."""
    try:
        yield
    finally:
        with suppress(smtplib.SMTPException, OSError):
            session.quit()
        session.close()


def _hand_over(session: smtplib.SMTP, mail: Message, to: str, deadline: float) -> None:
    """Like `smtplib`, but distinguishes errors after the text was started."""
    text = mail.as_bytes()
    sender = parseaddr(str(mail["From"]))[1]
    code, words = session.mail(sender)
    if code != 250:
        raise smtplib.SMTPSenderRefused(code, words, sender)
    code, words = session.rcpt(to)
    if code not in (250, 251):
        raise smtplib.SMTPRecipientsRefused({to: (code, words)})
    assert session.sock is not None, "it has just answered"
    session.sock.settimeout(_left_s(deadline))
    try:
        code, words = session.data(text)
    except smtplib.SMTPResponseException:  # an answer, though it is an OSError too
        raise
    except (smtplib.SMTPServerDisconnected, OSError) as fault:
        raise _Lost(str(fault)) from fault
    if code != 250:
        raise smtplib.SMTPDataError(code, words)


def _left_s(deadline: float) -> float:
    return max(0.1, deadline - time.monotonic())


def _compose(sender: str, to: str, title: str, text: str, message_id: str, now: datetime) -> Message:
    """As bytes that no library parses again: it would decode what looks encoded, line breaks included."""
    message = Message(policy=AS_IT_IS)
    message["Subject"] = _as_text(clean_text(spelled_out(title), SUBJECT_MAX))  # type: ignore[assignment]  # compat32
    message["From"] = _without_controls("from", sender)
    message["To"] = _without_controls("to", to)
    message["Date"] = format_datetime(now)  # RFC 5322 requires it; spam filters score email without one
    # The same for every attempt: a mailbox shows duplicates once.
    message["Message-ID"] = f"<{message_id}@{parseaddr(sender)[1].rpartition('@')[2] or 'mainspring'}>"
    message["Auto-Submitted"] = "auto-generated"  # suppresses automatic replies
    # Quoted-printable: not every server accepts 8 bits.
    message.set_payload((clean_text(text, 100_000) + "\n").encode(), _UTF8)
    return message


def _as_text(value: str) -> str | Header:
    """A header that readers show as written, even if it looks like an encoded word (RFC 2047)."""
    return value if value.isascii() and "=?" not in value else Header(value, "utf-8")


def _without_controls(field: str, value: str) -> str:
    """Refuses control characters, as written or as decoded by a reader."""
    if _CONTROL.search(value) or _CONTROL.search(str(make_header(decode_header(value)))):
        raise ValueError(f"the {field} address contains a control character; remove it")
    return value


def _in_words(fault: Exception) -> str:
    if isinstance(fault, smtplib.SMTPRecipientsRefused):
        ((code, words),) = list(fault.recipients.values())[:1]
        return f"the mail server refused the recipient: {code} {_text(words)}"
    if isinstance(fault, smtplib.SMTPAuthenticationError):
        return f"the mail server refused user or password: {fault.smtp_code} {_text(fault.smtp_error)}"
    if isinstance(fault, smtplib.SMTPResponseException):
        return f"the mail server answered {fault.smtp_code} {_text(fault.smtp_error)}"
    return f"the email could not be sent: {fault}"


def _text(words: bytes | str) -> str:
    return words.decode(errors="replace") if isinstance(words, bytes) else words


def _failed(why: str, duration_ms: int, code: str = NOT_SENT) -> Outcome:
    return Outcome(RunStatus.FAILURE, duration_ms, error_code=code, error=clean_text(spelled_out(why), 500))


def _ms_since(started: float) -> int:
    return int((time.monotonic() - started) * 1_000)


def _refused() -> Misconfigured:
    return Misconfigured(
        f"{SETTING} is not a mail server URL; write smtp://user:password@host:587 or smtps://host:465, with "
        "special characters percent-encoded",
        setting=SETTING,
    )
