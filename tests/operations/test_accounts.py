"""Users and members: what changes nothing is no change, who must stay stays; with `dry_run` the same in words alone."""

import pytest
from msgspec.structs import replace
from tests.stores.world import FixedClock

from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import Conflict
from mainspring.operations.accounts import account_dry_run, add_user, edit_user, find_user
from mainspring.operations.context import Desk
from mainspring.operations.members import add_member, list_members, remove_member, set_role
from mainspring.outbound.passwords import Argon2Hasher

LOCKSMITH = Argon2Hasher(memory_kib=8, passes=1)
ADA, BOB = "ada@example.com", "bob@example.com"


async def joined(desk: Desk, email: str, role: Role) -> None:
    await add_user(desk, LOCKSMITH, email, place=(desk.tenant_id, role))


async def roles(desk: Desk) -> dict[str, Role]:
    return {member.email: member.role for member in await desk.stores.accounts.members(desk.tenant_id)}


async def audited(desk: Desk, tenant_id: str) -> int:
    return len(await desk.stores.audit.audit_entries(tenant_id, None, 100))


async def test_edit_that_changes_nothing_is_not_in_the_trail(desk: Desk) -> None:
    user = (await add_user(desk, LOCKSMITH, ADA, "Ada")).user
    before = await audited(desk, "")

    assert await edit_user(desk, ADA, name="Ada", disabled=False) == user
    assert await audited(desk, "") == before


async def test_member_who_is_given_the_role_it_has_is_not_in_the_trail(desk: Desk) -> None:
    await joined(desk, ADA, Role.OWNER)
    before = await audited(desk, "default")

    assert (await set_role(desk, ADA, "owner")).role is Role.OWNER
    assert await audited(desk, "default") == before


async def test_operator_may_go_where_another_is_and_the_last_one_may_not(desk: Desk) -> None:
    for email in (ADA, BOB):
        await add_user(desk, LOCKSMITH, email, is_operator=True)

    assert not (await edit_user(desk, ADA, is_operator=False)).is_operator
    for asked in (desk, account_dry_run(desk)):
        with pytest.raises(Conflict, match=r"bob@example\.com is the last operator of this installation"):
            await edit_user(asked, BOB, disabled=True)


async def test_rehearsed_user_with_an_address_that_is_taken_is_refused_as_in_earnest(desk: Desk) -> None:
    await add_user(desk, LOCKSMITH, ADA)

    said = []
    for asked in (desk, account_dry_run(desk)):
        with pytest.raises(Conflict) as refused:
            await add_user(asked, LOCKSMITH, ADA)
        said.append(str(refused.value))

    assert said[0] == said[1]
    assert ADA in said[0]


async def test_rehearsed_member_is_shown_and_not_there(desk: Desk) -> None:
    member, _ = await add_member(account_dry_run(desk), LOCKSMITH, ADA, "operator", "Ada")

    assert (member.email, member.name, member.role) == (ADA, "Ada", Role.OPERATOR)
    assert await desk.stores.accounts.user(ADA) is None
    assert await roles(desk) == {}


async def test_rehearsed_invitation_is_shown_as_the_real_one_and_changes_no_password(
    desk: Desk, clock: FixedClock
) -> None:
    await add_user(desk, LOCKSMITH, ADA, "Ada", password="correct horse battery staple")
    clock.tick(seconds=1)

    shown, _ = await add_member(account_dry_run(desk), LOCKSMITH, ADA, "viewer")
    assert await list_members(desk) == []
    made, token = await add_member(desk, LOCKSMITH, ADA, "viewer")

    assert shown == made == (await list_members(desk))[0]
    assert token
    assert (await find_user(desk, ADA)).has_password


async def test_rehearsed_change_of_an_invitation_is_shown_and_not_made(desk: Desk) -> None:
    await add_member(desk, LOCKSMITH, ADA, "viewer")
    dry = account_dry_run(desk)

    assert (await set_role(dry, ADA, "operator")).role is Role.OPERATOR
    await remove_member(dry, ADA)

    assert await list_members(dry) == []
    assert [member.role for member in await list_members(desk)] == [Role.VIEWER]


async def test_invitation_gets_another_role_and_is_taken_back(desk: Desk) -> None:
    await add_member(desk, LOCKSMITH, ADA, "viewer")
    before = await audited(desk, "default")

    assert (await set_role(desk, ADA, "viewer")).role is Role.VIEWER
    assert await audited(desk, "default") == before
    await set_role(desk, ADA, "operator")
    assert [member.role for member in await list_members(desk)] == [Role.OPERATOR]
    await remove_member(desk, ADA)
    assert await list_members(desk) == []


async def test_rehearsed_user_of_another_tenant_is_no_member_of_this_one(desk: Desk) -> None:
    await desk.stores.endpoints.put_tenant(Tenant("other", "other"))
    dry = account_dry_run(desk)

    await add_user(dry, LOCKSMITH, ADA, place=("other", Role.OWNER))

    assert (await find_user(dry, ADA)).email == ADA
    assert await roles(dry) == {}
    assert await roles(replace(dry, tenant_id="other")) == {ADA: Role.OWNER}


async def test_rehearsed_change_of_a_role_is_shown_and_not_made(desk: Desk) -> None:
    await joined(desk, ADA, Role.OWNER)
    await joined(desk, BOB, Role.VIEWER)

    dry = account_dry_run(desk)
    assert (await set_role(dry, BOB, "owner")).role is Role.OWNER
    assert (await remove_member(dry, ADA)).email == ADA

    assert await roles(dry) == {BOB: Role.OWNER}
    assert await roles(desk) == {ADA: Role.OWNER, BOB: Role.VIEWER}


async def test_last_owner_stays_in_a_rehearsal_as_in_earnest(desk: Desk) -> None:
    await joined(desk, ADA, Role.OWNER)
    await joined(desk, BOB, Role.OPERATOR)

    said = []
    for asked in (desk, account_dry_run(desk)):
        with pytest.raises(Conflict) as refused:
            await remove_member(asked, ADA)
        said.append(str(refused.value))

    assert said[0] == said[1]
