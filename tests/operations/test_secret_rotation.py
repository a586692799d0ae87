"""Promise S4: everything that is sealed can be sealed again under another key, without anybody noticing."""

from collections import Counter
from functools import partial

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config
from tests.harness.config import edited as reconfigured
from tests.operations.rival import interrupted
from tests.stores.databases import is_sqlite, query
from tests.stores.world import FixedClock, an_outcome, change, claim, edited, finished, told

from mainspring.domain.access.audit import AuditFault
from mainspring.domain.access.sealing import answer_place, header_place
from mainspring.domain.errors import Misconfigured
from mainspring.domain.notify.subscription import AlertDraft, WebhookDraft
from mainspring.domain.run import Header
from mainspring.operations.alerts import add_alert
from mainspring.operations.audit import verify_audit
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, edit_endpoint, find_endpoint
from mainspring.operations.secret_rotation import Resealed, count_sealed, seal_again, settle_key
from mainspring.operations.signing_keys import add_signing_key
from mainspring.operations.webhooks import add_webhook
from mainspring.outbound.signing import generate_secret
from mainspring.outbound.vault import AesVault, KeyRing, key_id
from mainspring.ports.sealing import SealedKind
from mainspring.ports.stores import Stores
from mainspring.simulation.vault import NoVault
from mainspring.wiring.stores import open_stores

OLD, NEW = bytes(32), b"n" * 32  # the desk of these tests seals with OLD
SECRET = Header("X-Mine", "canary", secret=True)
HEALTH = a_config("health", "https://example.com/health", interval_ms=60_000, spread=False, headers=(SECRET,))
WORK_MS, KEEP_MS = 60_000, 86_400_000


def with_keys(desk: Desk, *keys: bytes) -> Desk:
    return replace(desk, vault=AesVault(KeyRing(keys[0], keys[1:])))


async def fill(desk: Desk) -> None:
    """One of everything that lies sealed."""
    await add_endpoint(desk, HEALTH)
    await add_signing_key(desk, generate_secret())
    hook = WebhookDraft("https://example.com/hook?token=canary", "hook", secret=generate_secret())
    await add_webhook(desk, hook)
    await add_alert(desk, {}, AlertDraft("alert", to=("https://example.com/a?token=canary", "https://example.com/b")))
    await ask_once(desk, "done")


async def ask_once(desk: Desk, key: str, answer: str = "the answer") -> str:
    """A request with an Idempotency-Key, as the API keeps it; "": it is still at work."""
    place = answer_place(desk.tenant_id, desk.actor, key)
    request = desk.vault.seal("the request", place)
    assert await desk.stores.answers.claim(desk.tenant_id, desk.actor, key, request, WORK_MS, KEEP_MS) is None
    if answer:
        await desk.stores.answers.keep(desk.tenant_id, desk.actor, key, request, desk.vault.seal(answer, place))
    return request


async def all_rows(url: str) -> str:
    """Every row of every table, as text."""
    if is_sqlite(url):
        tables = await query(url, "SELECT name FROM sqlite_schema WHERE type = 'table'")
    else:
        tables = await query(url, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return repr([await query(url, f'SELECT * FROM "{name}"') for (name,) in tables])


async def test_everything_is_under_the_new_key_and_opens_with_it_alone(desk: Desk, store_url: str) -> None:
    await fill(desk)
    assert f"v1.{key_id(OLD)}." in await all_rows(store_url)

    moved = await seal_again(with_keys(desk, NEW, OLD))

    assert moved == Resealed(values=8)  # a header, a signing key, two of a webhook, two channels, request and answer
    assert f"v1.{key_id(OLD)}." not in await all_rows(store_url)
    assert await count_sealed(desk.stores) == Counter({key_id(NEW): 8})
    assert await seal_again(with_keys(desk, NEW)) == Resealed()
    opened = AesVault(KeyRing(NEW))
    for kind in SealedKind:
        for row in await desk.stores.sealed.sealed(kind, (), 100):
            assert all(opened.open(sealed, place) for sealed, place in row.values.items())


async def test_looks_go_page_by_page_through_everything(desk: Desk) -> None:
    for number in range(5):
        await add_endpoint(desk, replace(HEALTH, name=f"health {number}"))
        await ask_once(desk, f"key {number}")
    read: dict[SealedKind, list[tuple[str, ...]]] = {SealedKind.ENDPOINT: [], SealedKind.ANSWER: []}
    for kind, places in read.items():
        while rows := await desk.stores.sealed.sealed(kind, places[-1] if places else (), 2):
            places += [row.place for row in rows]

    assert [len(set(places)) for places in read.values()] == [5, 5]


async def test_endpoint_is_the_same_for_everybody_but_the_vault(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    before, events = await find_endpoint(desk, "health"), await told(desk.stores)

    await seal_again(with_keys(desk, NEW, OLD))

    after = await find_endpoint(desk, "health")
    assert after.action != before.action
    assert replace(after, action=before.action) == before  # its version too, of which its ETag is made
    assert await told(desk.stores) == events


async def test_run_under_way_ends_and_the_next_one_has_the_new_seal(desk: Desk, clock: FixedClock) -> None:
    await add_endpoint(desk, HEALTH)
    (each,) = (await claim(desk.stores)).claims

    await seal_again(with_keys(desk, NEW, OLD))
    report = await desk.stores.schedule.finish([finished(each, an_outcome())])
    clock.tick(minutes=1)
    (following,) = (await claim(desk.stores)).claims

    assert report.superseded == ()
    (header,) = http_of(following.endpoint).headers
    place = header_place("default", following.endpoint.id, "X-Mine")
    assert AesVault(KeyRing(NEW)).open(header.value, place) == "canary"


async def test_edit_that_came_between_reading_and_writing_stays(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)
    (row,) = await desk.stores.sealed.sealed(SealedKind.ENDPOINT, (), 10)
    (before,) = row.values
    await edit_endpoint(desk, "health", lambda old: reconfigured(old, headers=(replace(SECRET, value="another"),)))
    meant = await find_endpoint(desk, "health")

    assert await desk.stores.sealed.reseal([(row, {before: AesVault(KeyRing(NEW)).seal("canary", "x")})]) == 0
    assert await find_endpoint(desk, "health") == meant
    assert (await seal_again(with_keys(desk, NEW, OLD))).values == 1
    (header,) = http_of(await find_endpoint(desk, "health")).headers
    assert AesVault(KeyRing(NEW)).open(header.value, header_place("default", meant.id, "X-Mine")) == "another"


async def test_value_that_an_edit_was_faster_to_write_counts_as_left_and_not_as_sealed_again(desk: Desk) -> None:
    """The edit has the old key still, and the other endpoint is nobody's: its two values are written."""
    await add_endpoint(desk, HEALTH)
    two = (SECRET, replace(SECRET, name="X-Other"))
    await add_endpoint(desk, reconfigured(HEALTH, name="other", headers=two))
    edit = partial(
        edit_endpoint, desk, "health", lambda old: reconfigured(old, headers=(replace(SECRET, value="another"),))
    )
    both = with_keys(desk, NEW, OLD)

    assert await seal_again(interrupted(both, "reseal", edit, "sealed")) == Resealed(values=2, left=1)
    assert await seal_again(both) == Resealed(values=1)
    assert await seal_again(both) == Resealed()


async def test_edit_by_who_read_the_old_seal_leaves_it_to_the_next_look(desk: Desk) -> None:
    await add_endpoint(desk, HEALTH)

    read = await find_endpoint(desk, "health")
    await seal_again(with_keys(desk, NEW, OLD))
    await change(desk.stores, read, edited(action=read.action))

    assert await seal_again(with_keys(desk, NEW, OLD)) == Resealed(values=1)
    assert await seal_again(with_keys(desk, NEW)) == Resealed()


async def test_request_at_work_keeps_its_seal_until_it_is_answered(desk: Desk) -> None:
    request = await ask_once(desk, "slow", answer="")
    both = with_keys(desk, NEW, OLD)

    assert await seal_again(both) == Resealed(left=1)
    place = answer_place("default", "ada", "slow")
    await desk.stores.answers.keep("default", "ada", "slow", request, desk.vault.seal("done", place))
    assert await seal_again(both) == Resealed(values=2)

    held = await desk.stores.answers.claim("default", "ada", "slow", "again", WORK_MS, KEEP_MS)
    assert held is not None
    assert [AesVault(KeyRing(NEW)).open(str(part), place) for part in held] == ["the request", "done"]


async def test_request_that_was_lost_at_work_is_sealed_again_after_its_time(desk: Desk, clock: FixedClock) -> None:
    await ask_once(desk, "lost", answer="")
    clock.tick(milliseconds=WORK_MS)

    assert await seal_again(with_keys(desk, NEW, OLD)) == Resealed(values=1)
    assert await ask_once(with_keys(desk, NEW), "lost")


async def test_what_no_key_opens_is_counted_and_left_as_it_is(desk: Desk) -> None:
    await add_endpoint(with_keys(desk, b"x" * 32), HEALTH)
    before = await find_endpoint(desk, "health")

    assert await seal_again(with_keys(desk, NEW, OLD)) == Resealed(unreadable=1)
    assert await find_endpoint(desk, "health") == before


async def test_what_is_in_no_form_of_ours_is_counted_under_no_key(desk: Desk) -> None:
    await add_endpoint(replace(desk, vault=NoVault()), HEALTH)

    assert await count_sealed(desk.stores) == Counter({"(none)": 1})
    assert await seal_again(with_keys(desk, NEW, OLD)) == Resealed(unreadable=1)


async def test_audit_trail_of_the_old_key_verifies_with_the_new_one_alone(store_url: str, desk: Desk) -> None:
    old, both, new = KeyRing(OLD), KeyRing(NEW, (OLD,)), KeyRing(NEW)
    async with open_stores(store_url, audit_keys=old.audit_keys) as stores:
        await add_endpoint(replace(desk, stores=stores), HEALTH)
    async with open_stores(store_url, audit_keys=both.audit_keys) as stores:
        await settle_key(replace(desk, stores=stores, vault=AesVault(both)), key_id(NEW), 1)
        await edit_endpoint(replace(desk, stores=stores, vault=AesVault(both)), "health", lambda each: each)

    async with open_stores(store_url, audit_keys=new.audit_keys) as stores:
        assert isinstance(await stores.audit.verify_audit("default"), AuditFault)  # without what was kept it would not
        assert await whole(replace(desk, stores=stores, vault=AesVault(new)))
        entries = await stores.audit.audit_entries("", None, 10)
    assert [(entry.act, entry.subject, entry.actor) for entry in entries] == [
        ("secret_key.changed", key_id(NEW), "ada"),
    ]


async def whole(desk: Desk) -> bool:
    found = [await verify_audit(replace(desk, tenant_id=tenant_id)) for tenant_id in ("default", "")]
    assert not any(isinstance(each, AuditFault) for each in found), found
    return True


async def test_what_was_kept_of_a_key_does_not_open_for_others(desk: Desk, stores: Stores) -> None:
    await settle_key(with_keys(desk, NEW, OLD), key_id(NEW), 0)

    with pytest.raises(Misconfigured, match="not on the key ring"):
        AesVault(KeyRing(OLD)).recall(await stores.upkeep.installation("retired_keys", ""))
