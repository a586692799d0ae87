"""Users, their places in tenants, and links that open once."""

import asyncio
from datetime import timedelta

import pytest
from msgspec.structs import replace
from tests.stores.people import a_user, add_user, an_event
from tests.stores.world import START, FixedClock

from mainspring.domain.access.account import Link, Member, MemberInvitation
from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import EventType
from mainspring.ports.stores import Stores


async def test_user_is_found_by_id_email_and_subject(stores: Stores) -> None:
    user = replace(a_user("ann@example.com"), subject="https://issuer.example|42")
    await stores.accounts.add_user(user, "hash", None, [], False)
    stored = replace(user, has_password=True)

    assert await stores.accounts.user(user.id) == (stored, "hash")
    assert await stores.accounts.user("ann@example.com") == (stored, "hash")
    assert await stores.accounts.user("https://issuer.example|42") == (stored, "hash")
    assert await stores.accounts.user("") is None


async def test_second_user_of_an_email_address_is_refused(stores: Stores) -> None:
    await add_user(stores, "ann@example.com")

    with pytest.raises(Conflict, match="another user already has the email address"):
        await add_user(stores, "ann@example.com")


async def test_users_are_listed_by_email(stores: Stores) -> None:
    for email in ("cy@example.com", "ann@example.com", "bo@example.com"):
        await add_user(stores, email)

    emails = [user.email for user in await stores.accounts.users()]
    assert emails == ["ann@example.com", "bo@example.com", "cy@example.com"]


async def test_only_one_of_many_becomes_the_first_user(stores: Stores, other_stores: Stores) -> None:
    async def come_first(each: Stores) -> bool:
        return await each.accounts.add_user(a_user(), "hash", ("default", Role.OWNER), [], True)

    won = await asyncio.gather(*(come_first(each) for each in (stores, other_stores) * 5))

    assert sorted(won) == [False] * 9 + [True]
    assert len(await stores.accounts.users()) == 1


async def test_nobody_is_first_where_somebody_is(stores: Stores) -> None:
    await add_user(stores)

    assert not await stores.accounts.add_user(a_user(), "", None, [], True)


async def test_member_has_the_last_role_given(stores: Stores) -> None:
    owner = await add_user(stores, "ann@example.com")
    user = await add_user(stores, "bo@example.com", role=None)
    for role in (Role.VIEWER, Role.OPERATOR):
        await stores.accounts.put_member("default", user.id, role, an_event(EventType.MEMBER_CHANGED, "default"))

    assert await stores.accounts.members("default") == [
        Member("default", owner.id, "ann@example.com", owner.name, Role.OWNER, START),
        Member("default", user.id, "bo@example.com", user.name, Role.OPERATOR, START),
    ]


@pytest.mark.parametrize("role", [Role.VIEWER, None], ids=["demoted", "removed"])
async def test_last_owner_stays(stores: Stores, role: Role | None) -> None:
    owner = await add_user(stores)
    event = an_event(EventType.MEMBER_CHANGED, "default")

    with pytest.raises(Conflict, match="without an owner"):
        await stores.accounts.put_member("default", owner.id, role, event)
    assert [member.role for member in await stores.accounts.members("default")] == [Role.OWNER]


async def test_of_two_owners_who_remove_each_other_at_once_one_stays(stores: Stores, other_stores: Stores) -> None:
    ann, bo = await add_user(stores), await add_user(stores)
    event = an_event(EventType.MEMBER_CHANGED, "default")
    results = await asyncio.gather(
        stores.accounts.put_member("default", ann.id, None, event),
        other_stores.accounts.put_member("default", bo.id, None, event),
        return_exceptions=True,
    )

    assert sum(isinstance(result, Conflict) for result in results) == 1
    assert len(await stores.accounts.members("default")) == 1


async def test_tenants_are_listed_by_id(stores: Stores) -> None:
    await stores.endpoints.put_tenant(Tenant("acme", "Acme", endpoints_max=3))

    assert await stores.accounts.tenants() == [
        Tenant("acme", "Acme", endpoints_max=3),
        Tenant("default", "default"),
    ]


async def test_installation_has_several_tenants_from_the_second_on(stores: Stores) -> None:
    one = await stores.accounts.has_several_tenants()
    await stores.endpoints.put_tenant(Tenant("acme", "Acme"))

    assert (one, await stores.accounts.has_several_tenants()) == (False, True)


async def test_link_opens_once_over_all_processes(stores: Stores, other_stores: Stores) -> None:
    link = Link("usr_1", START + timedelta(hours=24))
    await stores.accounts.add_link("hash", link)
    taken = await asyncio.gather(*(each.accounts.take_link("hash") for each in (stores, other_stores)))

    assert sorted(taken, key=lambda each: each is None) == [link, None]


async def test_link_opens_until_its_time_runs_out(stores: Stores, clock: FixedClock) -> None:
    for token in ("one", "two"):
        await stores.accounts.add_link(token, Link("", START + timedelta(hours=24)))
    clock.tick(hours=24, microseconds=-1)
    in_time = await stores.accounts.take_link("one")
    clock.tick(microseconds=1)

    assert in_time is not None
    assert await stores.accounts.take_link("two") is None


def an_offer(email: str = "bo@example.com") -> MemberInvitation:
    return MemberInvitation("default", email, "Bo", Role.VIEWER, "tenant:default", START, START + timedelta(hours=24))


async def test_invitation_is_accepted_once_over_all_processes(stores: Stores, other_stores: Stores) -> None:
    await stores.accounts.put_invitation(an_offer(), "hash", an_event(EventType.MEMBER_INVITED, "default"))
    user = await add_user(stores, "bo@example.com", role=None)
    event = an_event(EventType.MEMBER_CHANGED, "default")
    accepted = await asyncio.gather(
        *(each.accounts.accept("hash", user, None, False, [event]) for each in (stores, other_stores))
    )

    assert sorted(accepted) == [False, True]
    assert [member.user_id for member in await stores.accounts.members("default")] == [user.id]
    assert await stores.accounts.invitations("default") == []


async def test_invitation_can_be_accepted_until_it_expires(stores: Stores, clock: FixedClock) -> None:
    await stores.accounts.put_invitation(an_offer(), "hash", an_event(EventType.MEMBER_INVITED, "default"))
    clock.tick(hours=24, microseconds=-1)
    in_time = await stores.accounts.invitation("hash"), await stores.accounts.is_invited("bo@example.com")
    clock.tick(microseconds=1)

    assert in_time == (an_offer(), True)
    assert await stores.accounts.invitation("hash") is None
    assert not await stores.accounts.is_invited("bo@example.com")
    assert await stores.accounts.invitations("default") == [an_offer()]


async def test_second_invitation_closes_the_link_of_the_first(stores: Stores) -> None:
    for token in ("one", "two"):
        await stores.accounts.put_invitation(an_offer(), token, an_event(EventType.MEMBER_INVITED, "default"))

    assert await stores.accounts.invitation("one") is None
    assert await stores.accounts.invitation("two") == an_offer()


async def test_invitation_of_an_address_that_got_an_account_meanwhile_makes_no_second_one(stores: Stores) -> None:
    await stores.accounts.put_invitation(an_offer(), "hash", an_event(EventType.MEMBER_INVITED, "default"))
    await add_user(stores, "bo@example.com", role=None)

    with pytest.raises(Conflict):
        await stores.accounts.accept("hash", a_user("bo@example.com"), "", True, [an_event()])
    assert await stores.accounts.invitation("hash") == an_offer()


async def test_new_password_closes_the_links_of_its_user_alone_and_none_leaves_them(stores: Stores) -> None:
    user, other = await add_user(stores), await add_user(stores)
    for each in (user, other):
        await stores.accounts.add_link(each.id, Link(each.id, START + timedelta(hours=24)))
    await stores.accounts.put_password(user.id, "", "tenant:x", an_event(EventType.USER_UPDATED))
    assert await stores.accounts.link(user.id) is not None
    await stores.accounts.put_password(user.id, "hash", "operator", an_event(EventType.PASSWORD_SET))

    assert await stores.accounts.link(user.id) is None
    assert await stores.accounts.link(other.id) is not None
