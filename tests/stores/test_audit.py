"""The audit trail: one entry for each act, in its transaction; whatever is done to the trail later is found."""

import asyncio
import random

import apsw
import asyncpg
import pytest
from tests.harness.postgres import as_superuser
from tests.stores.databases import file_of, is_sqlite, query
from tests.stores.people import add_key, add_user, an_event
from tests.stores.world import START, FixedClock, add, an_endpoint, edited, get, hinted, requested, run_slot

from mainspring.domain.access.audit import AuditFault, AuditHead, AuditKeys, state_digest
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import Event, EventType
from mainspring.domain.run import HttpAction
from mainspring.domain.schedule.changes import put_interval_hint
from mainspring.domain.schedule.cron import CRON
from mainspring.domain.schedule.hint import IntervalHint
from mainspring.ports.accounts import ORIGIN
from mainspring.ports.documents import Changeset
from mainspring.ports.stores import Stores
from mainspring.wiring.stores import open_stores

COLUMNS = "at, actor, address, act, subject, detail, before, after, key_id, seal"


async def acts(stores: Stores, tenant_id: str = "default") -> list[str]:
    return [entry.act for entry in reversed(await stores.audit.audit_entries(tenant_id, None, 1_000))]


async def tamper(url: str, *statements: str) -> None:
    """What somebody with the database in hand can do, who also switches the triggers off."""
    if is_sqlite(url):
        file = apsw.Connection(str(file_of(url)))
        for trigger in ("audit_entry_stays", "audit_entry_remains"):
            file.execute(f"DROP TRIGGER IF EXISTS {trigger}")
        for statement in statements:
            file.execute(statement)
        file.close()
        return
    connection = await asyncpg.connect(as_superuser(url))
    await connection.execute("SET session_replication_role = replica")
    for statement in statements:
        await connection.execute(statement)
    await connection.close()


async def write_entries(stores: Stores, count: int) -> None:
    await stores.runs.add_events([an_event(EventType.LOGOUT, "default", subject=f"user {n}") for n in range(count)])


async def test_act_is_in_the_trail_with_who_whence_and_what_it_changed(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    where = ORIGIN.set("192.0.2.7")
    change = await stores.endpoints.change_endpoints(
        "default", [endpoint.id], edited(action=HttpAction(url="http://127.0.0.1:9/new"))
    )
    ORIGIN.reset(where)
    (entry,) = await stores.audit.audit_entries("default", None, 10)

    assert (entry.seq, entry.at, entry.actor, entry.address) == (1, START, "tester", "192.0.2.7")
    assert (entry.act, entry.subject) == ("endpoint.updated", endpoint.id)
    assert (entry.before, entry.after) == (state_digest(endpoint), state_digest(change[0].endpoint))


async def test_what_the_scheduler_and_rules_do_is_not_an_act(stores: Stores, clock: FixedClock) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await run_slot(stores, clock)
    hint = IntervalHint(30_000, clock.now().replace(year=2026), "busy", "rule:fast")
    await stores.endpoints.change_endpoints(
        "default", [endpoint.id], lambda old, now: put_interval_hint(old, hint, now, CRON)
    )

    assert await acts(stores) == []


async def test_hint_of_a_model_and_a_requested_run_are_acts(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    hint = IntervalHint(30_000, START.replace(year=2026), "busy", "model:gpt")
    await stores.endpoints.change_endpoints(
        "default", [endpoint.id], lambda old, now: put_interval_hint(old, hint, now, CRON)
    )
    await stores.endpoints.change_endpoints("default", [endpoint.id], requested())

    assert await acts(stores) == ["hint.written", "manual_run.requested"]


async def test_act_that_failed_leaves_no_entry(stores: Stores) -> None:
    await add_user(stores, "ann@example.com")
    before = await acts(stores, "")
    with pytest.raises(Exception, match="already"):
        await add_user(stores, "ann@example.com")

    assert await acts(stores, "") == before == ["user.created"]


async def test_each_tenant_has_a_chain_of_its_own(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"), an_event(EventType.TENANT_CREATED, "acme"))
    await add_key(stores)
    await add_key(stores)

    assert await acts(stores, "acme") == ["tenant.created"]
    assert await stores.audit.verify_audit("acme") == AuditHead(
        1, (await stores.audit.audit_entries("acme", None, 1))[0].seal
    )
    assert [entry.seq for entry in await stores.audit.audit_entries("default", None, 10)] == [2, 1]
    assert [entry.seq for entry in await stores.audit.audit_entries("default", 2, 10)] == [1]


async def test_concurrent_acts_of_two_processes_make_one_chain(stores: Stores, other_stores: Stores) -> None:
    await asyncio.gather(*(add_key(each) for each in (stores, other_stores) * 10))
    found = await other_stores.audit.verify_audit("default")

    assert isinstance(found, AuditHead)
    assert found.seq == 20


async def test_trail_without_entries_is_whole(stores: Stores) -> None:
    assert await stores.audit.verify_audit("nobody") == AuditHead()


async def test_trail_is_append_only(stores: Stores, store_url: str) -> None:
    await write_entries(stores, 2)

    for statement in ("UPDATE audit_entry SET actor = 'x'", "DELETE FROM audit_entry"):
        with pytest.raises((apsw.ConstraintError, asyncpg.RaiseError), match="append only"):
            await query(store_url, statement)


ATTACKS = {
    "edited": ("UPDATE audit_entry SET actor = 'nobody' WHERE seq = {n}", 0),
    "moved in time": ("UPDATE audit_entry SET at = at + {step} WHERE seq = {n}", 0),
    "edited with its digest": ("UPDATE audit_entry SET after = 'ffff' WHERE seq = {n}", 0),
    "resealed": (
        "UPDATE audit_entry SET detail = '{{}}', seal = (SELECT seal FROM audit_entry WHERE seq = 1) WHERE seq = {n}",
        0,
    ),
    "deleted": ("DELETE FROM audit_entry WHERE seq = {n}", 0),
    "cut off": ("DELETE FROM audit_entry WHERE seq >= {n}", 0),
    "deleted and closed up": (
        "DELETE FROM audit_entry WHERE seq = {n}; UPDATE audit_entry SET seq = -seq WHERE seq > {n}; "
        "UPDATE audit_entry SET seq = -seq - 1 WHERE seq < 0",
        0,
    ),
    "swapped": (
        "UPDATE audit_entry SET seq = -1 WHERE seq = {n}; UPDATE audit_entry SET seq = {n} WHERE seq = {n} + 1; "
        "UPDATE audit_entry SET seq = {n} + 1 WHERE seq = -1",
        0,
    ),
    "inserted": (
        "UPDATE audit_entry SET seq = -seq WHERE seq >= {n}; UPDATE audit_entry SET seq = -seq + 1 WHERE seq < 0; "
        f"INSERT INTO audit_entry (tenant_id, seq, {COLUMNS}) "
        f"SELECT tenant_id, {{n}}, {COLUMNS} FROM audit_entry WHERE seq = {{n}} + 1",
        1,  # the copy fits its place; it is the second of the two that does not
    ),
    "moved to another tenant": ("UPDATE audit_entry SET tenant_id = 'acme' WHERE seq = {n}", 0),
}


@pytest.mark.parametrize("attack", ATTACKS)
async def test_attack_is_found_at_its_entry(stores: Stores, store_url: str, attack: str) -> None:
    await write_entries(stores, 31)
    statements, offset = ATTACKS[attack]
    place = random.Random(attack).randint(2, 30)
    step = "1" if is_sqlite(store_url) else "interval '1 microsecond'"
    await tamper(store_url, *statements.format(n=place, step=step).split("; "))
    found = await stores.audit.verify_audit("default")

    assert isinstance(found, AuditFault)
    assert found.seq == place + offset


async def test_chain_replaced_as_a_whole_is_found(stores: Stores, store_url: str, clock: FixedClock) -> None:
    """By somebody who knows how seals are made, but not the key."""
    ours = AuditKeys("k1", {"k1": b"ours"})
    async with open_stores(store_url, clock=clock, audit_keys=ours) as keyed:
        await write_entries(keyed, 5)
        await tamper(store_url, "DELETE FROM audit_entry", "DELETE FROM audit_head")
        theirs = AuditKeys("k1", {"k1": b"guessed"})
        async with open_stores(store_url, clock=clock, audit_keys=theirs) as forged:
            await write_entries(forged, 5)
        found = await keyed.audit.verify_audit("default")

    assert isinstance(found, AuditFault)
    assert found.seq == 1


async def test_entries_sealed_with_an_older_key_still_verify(store_url: str, stores: Stores, clock: FixedClock) -> None:
    old = AuditKeys("k1", {"k1": b"old"})
    both = AuditKeys("k2", {"k1": b"old", "k2": b"new"})
    for keys in (old, both):
        async with open_stores(store_url, clock=clock, audit_keys=keys) as each:
            await write_entries(each, 2)
    async with open_stores(store_url, clock=clock, audit_keys=both) as each:
        whole = await each.audit.verify_audit("default")
    async with open_stores(store_url, clock=clock, audit_keys=old) as each:
        keyless = await each.audit.verify_audit("default")

    assert isinstance(whole, AuditHead)
    assert whole.seq == 4
    assert keyless == AuditFault(3, "the entry is sealed with key 'k2', which this process does not have")


async def test_user_hint_is_an_act_of_its_author(stores: Stores) -> None:
    endpoint = an_endpoint()
    await add(stores, endpoint)
    await stores.endpoints.change_endpoints("default", [endpoint.id], hinted(30_000))
    await stores.runs.add_events([Event(EventType.RUN_STARTED, START, "default", actor="user:ann@example.com")])

    assert await acts(stores) == ["hint.written"]


async def test_deletion_and_configuration_keep_a_digest_of_what_was_there(stores: Stores) -> None:
    one, two = an_endpoint(), an_endpoint()
    await add(stores, one, two)
    deleted = Event(EventType.ENDPOINT_DELETED, START, "default", one.id, "", "user:ann@example.com")
    await stores.endpoints.delete_endpoint("default", one.id, deleted)
    await stores.configuration.apply("default", Changeset(acts={two.id: edited(description="new")}))

    applied, gone = (await stores.audit.audit_entries("default", None, 2))[:2]

    assert (gone.act, gone.before, gone.after) == ("endpoint.deleted", state_digest(one), "")
    assert (applied.act, applied.before) == ("endpoint.updated", state_digest(two))
    assert applied.after == state_digest(await get(stores, two))
