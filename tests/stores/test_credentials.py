"""API keys, sessions and the turns of those who guess: what has ended is refused at once, in every process."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.people import add_key, add_session, add_user, an_event
from tests.stores.world import START, FixedClock

from mainspring.domain.access.account import Bucket, Membership, SecondFactor, digest
from mainspring.domain.access.passkey import Passkey
from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import EventType
from mainspring.ports.stores import Stores


async def test_key_is_known_by_its_secret_alone(stores: Stores) -> None:
    key = await add_key(stores, "s3cret")

    assert await stores.credentials.use_api_key(key.id, "s3cret") == key
    assert await stores.credentials.use_api_key(key.id, "s3creT") is None
    assert await stores.credentials.use_api_key("nokey", "s3cret") is None


async def test_revoked_key_is_refused_at_once_by_every_process(stores: Stores, other_stores: Stores) -> None:
    key = await add_key(stores, "s3cret")
    assert await other_stores.credentials.use_api_key(key.id, "s3cret")
    revoked = await stores.credentials.revoke_api_key("default", key.id, an_event(EventType.API_KEY_REVOKED, "default"))

    assert revoked
    assert await other_stores.credentials.use_api_key(key.id, "s3cret") is None
    assert await stores.credentials.use_api_key(key.id, "s3cret") is None


async def test_key_of_another_tenant_is_not_revoked(stores: Stores) -> None:
    key = await add_key(stores, "s3cret")

    assert not await stores.credentials.revoke_api_key("acme", key.id, an_event(EventType.API_KEY_REVOKED, "acme"))
    assert await stores.credentials.use_api_key(key.id, "s3cret")


async def test_key_is_refused_from_its_expiry_on(stores: Stores, clock: FixedClock) -> None:
    key = await add_key(stores, "s3cret", timedelta(days=1))
    clock.tick(days=1, microseconds=-1)
    assert await stores.credentials.use_api_key(key.id, "s3cret")
    clock.tick(microseconds=1)

    assert await stores.credentials.use_api_key(key.id, "s3cret") is None


async def test_last_use_is_known_within_a_minute(stores: Stores, clock: FixedClock) -> None:
    key = await add_key(stores, "s3cret")
    seen = []
    for _ in range(4):
        await stores.credentials.use_api_key(key.id, "s3cret")
        seen.append((await stores.credentials.api_keys("default"))[0].last_used_at)
        clock.tick(seconds=30)

    at_30s, at_60s = START, START + timedelta(seconds=60)
    assert seen == [START, at_30s, at_60s, at_60s]


async def test_wrong_secret_is_no_use(stores: Stores) -> None:
    key = await add_key(stores, "s3cret")
    await stores.credentials.use_api_key(key.id, "wrong")

    assert (await stores.credentials.api_keys("default"))[0].last_used_at is None


async def test_visit_says_who_and_where(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))
    user = await add_user(stores, role=Role.VIEWER, tenant_id="acme")
    await stores.accounts.put_member("default", user.id, Role.OWNER, an_event(EventType.MEMBER_CHANGED, "default"))
    session = await add_session(stores, user, "token")
    visit = await stores.credentials.visit(digest("token"))

    assert visit is not None
    assert (visit.session, visit.user) == (session, user)
    assert visit.memberships == (
        Membership("acme", "Acme", Role.VIEWER, START),
        Membership("default", "default", Role.OWNER, START),
    )
    assert await stores.credentials.visit(digest("other")) is None


async def test_session_ends_after_twelve_idle_hours(stores: Stores, clock: FixedClock) -> None:
    await add_session(stores, await add_user(stores), "token")
    clock.tick(hours=11, minutes=59)
    assert await stores.credentials.visit(digest("token"))
    clock.tick(hours=11, minutes=59)
    assert await stores.credentials.visit(digest("token"))
    clock.tick(hours=12)

    assert await stores.credentials.visit(digest("token")) is None


async def test_session_ends_after_fourteen_days_however_busy(stores: Stores, clock: FixedClock) -> None:
    await add_session(stores, await add_user(stores), "token")
    for _ in range(28):
        assert await stores.credentials.visit(digest("token"))
        clock.tick(hours=11)
    clock.at = START + timedelta(days=14)

    assert await stores.credentials.visit(digest("token")) is None


@pytest.mark.parametrize("ending", ["logout", "password", "disabled"])
async def test_session_that_was_ended_is_over_in_every_process(
    stores: Stores, other_stores: Stores, ending: str
) -> None:
    user = await add_user(stores)
    sessions = [await add_session(stores, user, token) for token in ("one", "two")]
    assert await other_stores.credentials.visit(digest("one"))
    match ending:
        case "logout":
            for session in sessions:
                await stores.credentials.end_session(session.id, an_event(EventType.LOGOUT))
        case "password":
            await stores.accounts.put_password(user.id, "hash", "operator", an_event(EventType.PASSWORD_SET))
        case "disabled":
            await stores.accounts.put_user(replace(user, disabled_at=START), an_event(EventType.USER_UPDATED))

    for each in (stores, other_stores):
        assert await each.credentials.visit(digest("one")) is None
        assert await each.credentials.visit(digest("two")) is None


async def test_session_of_a_user_enabled_again_stays_over(stores: Stores) -> None:
    user = await add_user(stores)
    await add_session(stores, user, "token")
    for disabled_at in (START, None):
        await stores.accounts.put_user(replace(user, disabled_at=disabled_at), an_event(EventType.USER_UPDATED))

    assert await stores.credentials.visit(digest("token")) is None


BUCKET = Bucket("account:ann", burst=5, every=timedelta(minutes=4))


async def test_a_bucket_takes_a_burst_and_then_one_at_a_time(
    stores: Stores, other_stores: Stores, clock: FixedClock
) -> None:
    at_once = [await each.credentials.take_turn([BUCKET]) for each in (stores, other_stores) * 3]
    clock.tick(minutes=4)
    later = [await stores.credentials.take_turn([BUCKET]) for _ in range(2)]

    assert at_once == [0, 0, 0, 0, 0, 240]
    assert later == [0, 240]


async def test_at_most_twenty_turns_pass_in_any_hour(stores: Stores, clock: FixedClock) -> None:
    turns = []
    for _ in range(120):
        turns.append(await stores.credentials.take_turn([BUCKET]) == 0)
        clock.tick(seconds=60)

    assert max(sum(turns[start : start + 60]) for start in range(60)) <= 20
    assert sum(turns[60:]) == 15


async def test_attempt_refused_by_one_bucket_counts_in_none(stores: Stores) -> None:
    full, other = Bucket("full", 1, timedelta(hours=1)), Bucket("other", 1, timedelta(hours=1))
    await stores.credentials.take_turn([full])

    assert await stores.credentials.take_turn([other, full]) == 3600
    assert await stores.credentials.take_turn([other]) == 0


async def test_turn_given_back_was_never_taken(stores: Stores) -> None:
    bucket = Bucket("one", 1, timedelta(hours=1))
    for _ in range(3):
        assert await stores.credentials.take_turn([bucket]) == 0
        await stores.credentials.give_turn_back([bucket])


async def test_code_counts_once_over_all_processes_and_none_before_it(stores: Stores, other_stores: Stores) -> None:
    user = await add_user(stores)
    await stores.credentials.put_second_factor(SecondFactor(user.id, "sealed", START, last_step=6), None)
    both = [each.credentials.use_step(user.id, 7) for each in (stores, other_stores)]

    assert sorted(await asyncio.gather(*both)) == [False, True]
    assert [await other_stores.credentials.use_step(user.id, step) for step in (6, 7, 8)] == [False, False, True]


async def test_recovery_code_counts_once_over_all_processes(stores: Stores, other_stores: Stores) -> None:
    user = await add_user(stores)
    await stores.credentials.put_second_factor(SecondFactor(user.id, "sealed", START, recovery=("a", "b")), None)
    both = [each.credentials.use_recovery(user.id, ("a", "b"), "a") for each in (stores, other_stores)]

    assert sorted(await asyncio.gather(*both)) == [False, True]
    left = await stores.credentials.second_factor(user.id)
    assert left is not None
    assert left.recovery == ("b",)


async def test_signature_of_a_passkey_counts_once_over_all_processes(stores: Stores, other_stores: Stores) -> None:
    user = await add_user(stores)
    passkey = Passkey("pk_1", user.id, "credential", "phone", "data", 4, "", START)
    await stores.credentials.add_passkey(passkey, None, an_event(EventType.PASSKEY_ADDED))
    both = [each.credentials.use_passkey("pk_1", 5) for each in (stores, other_stores)]

    assert sorted(await asyncio.gather(*both)) == [False, True]
    assert not await stores.credentials.use_passkey("pk_1", 4)
