"""Mail through a real server on loopback: what arrives, and what is said when it does not."""

import socket
from datetime import UTC, datetime

import pytest

from mainspring.domain.errors import InvalidInput, Misconfigured
from mainspring.domain.run import Outcome, RunStatus
from mainspring.outbound.apprise import AppriseSender
from mainspring.outbound.mail import LOST, NOT_SENT, Mailer, MailServer, check_address, read_server
from tests.peers.hostile import HostilePeer
from tests.peers.post_office import PostOffice

SENT_AT = datetime(2025, 1, 31, 8, 30, tzinfo=UTC)


async def send(
    office: PostOffice, user: str = "", host: str = "127.0.0.1", title: str = "billing is failing"
) -> Outcome:
    mailer = Mailer(f"smtp://{user}{host}:{office.port}", "mainspring@example.com", clock=lambda: SENT_AT)
    return await mailer.send("ops@example.com", title, "It failed.\n.\nTwice – truly.", "msg_1")


async def test_mail_arrives_as_it_was_written() -> None:
    async with PostOffice() as office:
        outcome = await send(office)

    (letter,) = office.letters
    assert outcome.status is RunStatus.SUCCESS
    assert office.recipients == ["ops@example.com"]
    assert (letter["subject"], letter["from"]) == ("[Mainspring] billing is failing", "mainspring@example.com")
    assert letter["date"].datetime == SENT_AT
    assert (letter["message-id"], letter["auto-submitted"]) == ("<msg_1@example.com>", "auto-generated")
    assert letter.get_content().strip() == "It failed.\n.\nTwice – truly."


async def test_title_with_line_breaks_cannot_add_headers() -> None:
    async with PostOffice() as office:
        await send(office, title="x\r\nBcc: victim@example.com\r\n\r\nspam")

    assert office.recipients == ["ops@example.com"]
    assert office.letters[0]["bcc"] is None


@pytest.mark.parametrize(
    ("verb", "answer", "words"),
    [
        ("RCPT", "550 no such person", "the mail server refused the recipient: 550 no such person"),
        ("MAIL", "451 try later", "the mail server answered 451 try later"),
        ("DATA", "554 spam", "the mail server answered 554 spam"),
    ],
)
async def test_refusal_is_told_in_the_servers_words(verb: str, answer: str, words: str) -> None:
    async with PostOffice() as office:
        office.answers[verb] = answer
        outcome = await send(office)

    assert (outcome.status, outcome.error) == (RunStatus.FAILURE, words)


async def test_letter_that_may_have_arrived_is_told_apart_from_one_that_cannot_have() -> None:
    async with PostOffice() as office:
        office.is_silent = True
        lost = await send(office)
        office.answers["RCPT"] = "550 no such person"
        refused = await send(office)

    assert (lost.error_code, refused.error_code) == (LOST, NOT_SENT)
    assert "broke after the email was sent" in (lost.error or "")


@pytest.mark.parametrize("answer", ["421 too busy to say goodbye", "500 what?", "nonsense"])
async def test_letter_that_was_taken_is_sent_however_the_server_takes_leave(answer: str) -> None:
    async with PostOffice() as office:
        office.answers["QUIT"] = answer
        outcome = await Mailer(f"smtp://127.0.0.1:{office.port}", "m@example.com", clock=lambda: SENT_AT).send(
            "ann@example.com", "a", "b", "1"
        )

    assert (outcome.status, len(office.letters)) == (RunStatus.SUCCESS, 1)


async def test_refusal_is_told_however_the_server_takes_leave() -> None:
    async with PostOffice() as office:
        office.answers |= {"RCPT": "550 no such person", "QUIT": "500 what?"}
        outcome = await Mailer(f"smtp://127.0.0.1:{office.port}", "m@example.com", clock=lambda: SENT_AT).send(
            "ann@example.com", "a", "b", "1"
        )

    assert outcome.error == "the mail server refused the recipient: 550 no such person"


async def test_sender_of_one_letter_may_be_another() -> None:
    async with PostOffice() as office:
        mailer = Mailer(f"smtp://127.0.0.1:{office.port}", "mainspring@example.com", clock=lambda: SENT_AT)
        await mailer.send("ann@example.com", "x", "y", "msg_1", sender="Shop <shop@example.org>")

    assert office.letters[0]["from"] == "Shop <shop@example.org>"
    assert office.letters[0]["message-id"] == "<msg_1@example.org>"
    assert any(command.startswith("mail FROM:<shop@example.org>") for command in office.commands)


async def test_server_that_never_answers_is_given_up_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        mailer = Mailer(f"smtp://127.0.0.1:{mute.getsockname()[1]}", "a@example.com", clock=lambda: SENT_AT)
        outcome = await mailer.send("ann@example.com", "x", "y", "msg_1", timeout_s=0.2)

    assert (outcome.status, outcome.error_code) == (RunStatus.FAILURE, NOT_SENT)


async def test_wrong_password_is_told_without_the_password() -> None:
    async with PostOffice(extensions=("AUTH PLAIN",)) as office:
        office.answers["AUTH"] = "535 wrong"
        outcome = await send(office, user="ann:s3cret@")

    assert outcome.error == "the mail server refused user or password: 535 wrong"


async def test_server_that_is_away_is_a_failure() -> None:
    async with PostOffice() as office:
        pass
    outcome = await send(office)

    assert outcome.status is RunStatus.FAILURE
    assert "Connection refused" in (outcome.error or "")


async def test_without_a_server_the_setting_is_named() -> None:
    outcome = await Mailer("", "a@example.com", clock=lambda: SENT_AT).send("ops@example.com", "x", "y", "msg_1")

    assert "set MAINSPRING_SMTP_URL to smtp://host:port" in (outcome.error or "")


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.com", MailServer("mail.example.com", 25)),
        ("smtp://ann:p%40ss@mail.example.com", MailServer("mail.example.com", 587, "ann", "p@ss")),
        ("smtps://mail.example.com", MailServer("mail.example.com", 465, implicit_tls=True)),
        ("smtp://mail.example.com:2525?tls=never", MailServer("mail.example.com", 2525, never_tls=True)),
    ],
)
def test_server_is_read_from_its_url(url: str, server: MailServer) -> None:
    assert read_server(url) == server


@pytest.mark.parametrize(
    "url", ["mail.example.com", "http://x/", "smtp://", "smtp://s3cret:x@h:port", "smtp://h?tls=no"]
)
def test_what_is_no_mail_server_is_refused_without_showing_it(url: str) -> None:
    with pytest.raises(Misconfigured, match="MAINSPRING_SMTP_URL is not a mail server URL") as refusal:
        read_server(url)

    assert "s3cret" not in str(refusal.value)


@pytest.mark.parametrize(
    "address", ["ops", "ops@", "@example.com", "a@b", "a@example.com,b@example.com", "a@x.y\nBcc: c"]
)
def test_what_is_no_mail_address_is_refused(address: str) -> None:
    with pytest.raises(InvalidInput, match="is neither an email address nor a URL"):
        Mailer("", "a@example.com", clock=lambda: SENT_AT).check(address)


def test_apprise_must_be_allowed_by_an_operator() -> None:
    with pytest.raises(InvalidInput, match="MAINSPRING_ALLOW_APPRISE=true") as refusal:
        AppriseSender(allowed=False).check("slack://s3cret/a/b")

    assert "s3cret" not in str(refusal.value)


def test_address_that_apprise_does_not_understand_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is not a URL that apprise supports"):
        AppriseSender(allowed=True).check("nonsense://s3cret")


async def test_message_goes_through_apprise(peer: HostilePeer) -> None:
    outcome = await AppriseSender(allowed=True).send(f"json://127.0.0.1:{peer.port}/ok", "title", "text", "msg_1")

    assert outcome.status is RunStatus.SUCCESS
    assert b'"title": "title"' in peer.seen[0].body


async def test_service_that_does_not_take_a_message_is_a_failure(peer: HostilePeer) -> None:
    outcome = await AppriseSender(allowed=True).send(
        f"json://127.0.0.1:{peer.port}/unavailable", "title", "text", "msg_1"
    )

    assert outcome.error == "the service did not accept the message"


WORDS = ["=?utf-8?q?x=0D=0ABcc:_evil=40x.y?=", "=?utf-8?b?eA0KQmNjOiBldmlsQHgueQ==?=", "a =?utf-8?q?=0A?= b", "=?x"]


@pytest.mark.parametrize("word", WORDS)
async def test_subject_that_looks_encoded_is_text(word: str) -> None:
    async with PostOffice() as office:
        outcome = await send(office, title=word)
        (letter,) = office.letters

    assert outcome.status is RunStatus.SUCCESS
    assert letter["Bcc"] is None
    assert str(letter["Subject"]) == f"[Mainspring] {word}"
    assert [name for name in letter if name.lower() in ("bcc", "cc")] == []


@pytest.mark.parametrize("word", WORDS[:3])
async def test_sender_with_a_control_character_once_decoded_is_refused(word: str) -> None:
    async with PostOffice() as office:
        mailer = Mailer(f"smtp://127.0.0.1:{office.port}", "mainspring@example.com", clock=lambda: SENT_AT)
        outcome = await mailer.send("ops@example.com", "title", "text", "id-1", sender=f"{word} <a@example.com>")

    assert outcome.status is RunStatus.FAILURE
    assert "control character" in str(outcome.error)
    assert office.letters == []


@pytest.mark.parametrize("word", WORDS)
def test_address_that_looks_encoded_is_refused(word: str) -> None:
    with pytest.raises(InvalidInput):
        check_address(f"{word}@example.com")
