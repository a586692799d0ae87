"""Secrets by reference: read where a document is applied, sealed in the database, shown and exported nowhere."""

from pathlib import Path

import pytest

from mainspring.documents.apply import apply_files
from mainspring.documents.export import export_documents
from mainspring.documents.faults import InvalidDocument
from mainspring.documents.plan import Options
from mainspring.documents.references import sent
from mainspring.documents.yaml_writer import as_yaml
from mainspring.domain.access.sealing import header_place
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import find_endpoint
from tests.actions import http_of
from tests.documents.texts import MESSENGERS, apply, faults, told
from tests.stores.databases import file_of, is_sqlite, query

ONE = "endpoints:\n  a:\n    url: https://example.com/\n    every: 1m\n    headers:\n      X-Tag: {}\n"


async def opened(desk: Desk, name: str = "a") -> list[tuple[str, str, bool]]:
    """The headers of an endpoint, secrets opened."""
    endpoint = await find_endpoint(desk, name)
    return [
        (
            header.name,
            desk.vault.open(header.value, header_place(desk.tenant_id, endpoint.id, header.name))
            if header.secret
            else header.value,
            header.secret,
        )
        for header in http_of(endpoint).headers
    ]


async def test_environment_variable_becomes_a_sealed_secret(desk: Desk, store_url: str) -> None:
    await apply(desk, ONE.format("Bearer ${env:TOKEN}"))

    assert await opened(desk) == [("X-Tag", "Bearer s3cret", True)]
    assert "s3cret" not in str(await query(store_url, "SELECT * FROM endpoint"))
    if is_sqlite(store_url):
        assert b"s3cret" not in file_of(store_url).read_bytes()


async def test_file_becomes_a_secret_without_its_last_line_break(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("from a file\n")

    await apply(desk, ONE.format(f"${{file:{tmp_path}/key}}"))

    assert await opened(desk) == [("X-Tag", "from a file", True)]


async def test_same_secret_again_changes_nothing_and_another_one_does(desk: Desk) -> None:
    text = ONE.format("${env:TOKEN}")
    await apply(desk, text)

    assert (await apply(desk, text)).steps == ()
    report = await apply(desk, text, environment={"TOKEN": "new"})
    assert told(report) == ["change endpoint a headers.X-Tag:(secret)>(another secret)"]
    assert await opened(desk) == [("X-Tag", "new", True)]


async def test_no_secret_is_in_a_plan_or_an_event(desk: Desk) -> None:
    report = await apply(desk, ONE.format("${env:TOKEN}"))

    events = await desk.stores.runs.latest_events(desk.tenant_id, 50)
    assert "s3cret" not in f"{report} {events}"


async def test_export_writes_a_placeholder_that_keeps_the_secret(desk: Desk) -> None:
    await apply(desk, ONE.format("${env:TOKEN}"))

    exported = as_yaml(await export_documents(desk))

    assert "s3cret" not in exported
    assert "X-Tag: ${stored}" in exported
    assert (await apply(desk, exported, prune=True)).steps == ()
    assert await opened(desk) == [("X-Tag", "s3cret", True)]


async def test_placeholder_without_a_stored_secret_is_refused(desk: Desk) -> None:
    assert await faults(desk, ONE.format("${stored}")) == [
        "6:14 header 'X-Tag' is ${stored}, but no secret of that name is stored for 'a'; give it as ${env:NAME} or "
        "${file:/path}"
    ]


async def test_placeholder_keeps_the_secret_of_a_renamed_endpoint(desk: Desk) -> None:
    await apply(desk, ONE.format("${env:TOKEN}"))

    await apply(desk, ONE.format("${stored}").replace("  a:\n", "  b:\n    renamed_from: a\n"))

    assert await opened(desk, "b") == [("X-Tag", "s3cret", True)]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("${env:NOPE}", "the environment variable NOPE is not set; set it where the document is applied"),
        ("${file:/no/such/file}", "/no/such/file cannot be read: No such file or directory; check that it exists"),
        ("${file:relative}", "relative is not an absolute path; write ${file:/path}"),
        ("${foo}", "unknown reference ${foo}; write ${env:NAME}, ${file:/path} or ${stored}, or $${ for a plain ${"),
        ("${env:}", "unknown reference ${env:}"),
        ("${open", "`${` has no `}`; write ${env:NAME} or ${file:/path}"),
        ("a ${stored}", "${stored} replaces a whole value; remove the text around it"),
    ],
)
async def test_reference_that_leads_nowhere_is_refused(desk: Desk, value: str, message: str) -> None:
    (fault,) = await faults(desk, ONE.format(f"'{value}'"))

    assert fault.startswith(f"6:14 header 'X-Tag': {message}")


async def test_doubled_dollar_is_a_plain_one_there_and_back(desk: Desk) -> None:
    await apply(desk, ONE.format("$${HOME} costs $5"))

    assert await opened(desk) == [("X-Tag", "${HOME} costs $5", False)]
    assert (await apply(desk, as_yaml(await export_documents(desk)))).steps == ()


async def test_value_may_be_marked_secret_and_a_header_sent_twice(desk: Desk) -> None:
    await apply(desk, ONE.format("[{value: one, secret: true}, two, 3]"))

    assert await opened(desk) == [("X-Tag", "one", True), ("X-Tag", "two", False), ("X-Tag", "3", False)]


@pytest.mark.parametrize(
    "text",
    [
        ONE.format("{value: hunter2, secrt: true}"),
        ONE.replace("X-Tag", "Host").format("hunter2"),
        "endpoints: {a: {url: 'https://x.example', every: 1m, headers: {Authorization: Bearer hunter2}, bogus: 1}}",
        "endpoints: {a: {url: 'https://x.example', every: 1x, headers: {X-Key: hunter2}}}",
        "endpoints: {a: {url: 'https://ann:hunter2@x.example', every: 1x}}",
        "endpoints: {a: {url: 'https://x.example', headers: {X-Key: hunter2}, every: 1m}",
        "alerts: {a: {to: 'https://chat.example/hooks/hunter2', bogus: 1}}",
        "webhooks: {a: {url: 'https://x.example/', secret: hunter2, bogus: 1}}",
        "workflows: {w: {steps: [{id: a, call: {url: 'https://x.example', headers: {X-Pin: hunter2}, bogus: 1}}]}}",
        "workflows: {w: {steps: [{id: a, call: {url: 'https://ann:hunter2@x.example', bogus: 1}}]}}",
    ],
)
async def test_secret_in_a_faulty_line_is_not_shown(desk: Desk, text: str) -> None:
    with pytest.raises(InvalidDocument) as refused:
        await apply(desk, text)

    assert "hunter2" not in refused.value.in_full()


async def test_document_that_was_sent_here_reads_nothing_of_this_machine(desk: Desk) -> None:
    for reference in ("${env:HOME}", "${file:/etc/passwd}"):
        with pytest.raises(InvalidDocument, match="is not resolved on the server for a document that was sent to it"):
            await apply_files(desk, [("body", ONE.format(reference).encode())], Options(sent({}), MESSENGERS))
