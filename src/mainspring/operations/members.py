"""Operations on the members of a tenant: invite, list, change roles, remove; and accept an invitation.

An invitation alone creates no member: the person with the link accepts it. The response to an invitation is the same
whether or not the address has an account.

What a link proves depends on who saw it. A link sent to the address, or created by an operator, proves the address. A
link shown to the inviting user proves nothing: the password it sets is valid in that tenant only, and the next
invitation by another tenant voids it.
"""

from msgspec.structs import replace

from mainspring.domain.access.account import (
    LINK_LIFE,
    Member,
    MemberInvitation,
    MemberStatus,
    User,
    check_email,
    check_password,
    check_role,
    digest,
    proof_by_tenant,
)
from mainspring.domain.access.audit import INSTALLATION
from mainspring.domain.access.scope import Role
from mainspring.domain.errors import Conflict, Forbidden, NotAuthenticated, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.operations.accounts import account_event, check_user_name, find_user, membership, new_token, new_user
from mainspring.operations.context import Desk
from mainspring.ports.accounts import LiveSession
from mainspring.ports.outbound import PasswordHasher

INVITATION_PREFIX = "inv_"  # a token's prefix names its table: an invalid one costs one lookup


async def list_members(desk: Desk) -> list[Member]:
    """Members and invited people, by email address."""
    members = await desk.stores.accounts.members(desk.tenant_id)
    known = {member.email for member in members}
    offers = await desk.stores.accounts.invitations(desk.tenant_id)
    return sorted((*members, *(each.member for each in offers if each.email not in known)), key=lambda each: each.email)


async def find_member(desk: Desk, email_or_id: str) -> Member:
    members = await list_members(desk)
    wanted = email_or_id.strip().lower()
    for member in members:
        if wanted and wanted in (member.user_id, member.email):
            return member
    raise NotFound("member", email_or_id, tuple(member.email for member in members))


async def add_member(
    desk: Desk, hasher: PasswordHasher, email: str, role: str, name: str = "", *, proof: str = ""
) -> tuple[Member, str]:
    """Invites an address, and returns the token of the link; "" if none is needed.

    A member gets the role immediately, and a link only if the account has no way to log in. `proof` is what the link
    will prove about the address; by default nothing.
    """
    email, wanted = check_email(email), check_role(role)
    name = check_user_name(name, email)
    member = next((each for each in await desk.stores.accounts.members(desk.tenant_id) if each.email == email), None)
    if member is not None:
        user = await find_user(desk, member.user_id)
        await _put_role(desk, user, member.role, wanted)
        member = replace(member, role=wanted)
        if user.is_proved or (user.has_password and member.status is not MemberStatus.UNPROVED):
            return member, ""
    token = await _offer(desk, hasher, email, wanted, name, proof or proof_by_tenant(desk.tenant_id))
    return member or await find_member(desk, email), token


async def set_role(desk: Desk, email_or_id: str, role: str) -> Member:
    member, wanted = await find_member(desk, email_or_id), check_role(role)
    if member.status is MemberStatus.INVITED:
        await _change_offer(desk, member, wanted)
    else:
        await _put_role(desk, await find_user(desk, member.user_id), member.role, wanted)
    return replace(member, role=wanted)


async def remove_member(desk: Desk, email_or_id: str) -> Member:
    """Removes a member, or withdraws an invitation."""
    member = await find_member(desk, email_or_id)
    if member.status is MemberStatus.INVITED:
        await _change_offer(desk, member, None)
    else:
        await _put_role(desk, await find_user(desk, member.user_id), member.role, None)
    return member


async def find_invitation(desk: Desk, token: str) -> MemberInvitation:
    offer = await desk.stores.accounts.invitation(digest(token))
    if offer is None:
        raise wrong_link()
    return offer


async def needs_login(desk: Desk, offer: MemberInvitation) -> bool:
    """Whether the address has a verified account: then only that account can accept."""
    found = await desk.stores.accounts.user(offer.email)
    return found is not None and (found[0].is_proved or found[0].is_operator)


async def accept_with_password(desk: Desk, hasher: PasswordHasher, token: str, password: str, name: str) -> User:
    """Accepts with a new account, or with one whose address was never verified, which gets a new password."""
    offer = await find_invitation(desk, token)
    if await needs_login(desk, offer):
        raise Conflict(
            f"{offer.email} already has an account; log in, then open this link again to accept the invitation",
            kind="user",
            name=offer.email,
        )
    checked = check_password(password, offer.email)
    now = await desk.stores.schedule.now()
    theirs = replace(desk, actor=f"user:{offer.email}")
    user, _ = await desk.stores.accounts.user(offer.email) or (None, "")
    if user is not None and user.disabled_at is not None:
        raise NotAuthenticated("this account is disabled; ask an operator of the installation")
    if user is None:
        made = new_user(theirs, offer.email, name or offer.name, now, offer.proof)
        what = account_event(theirs, EventType.USER_CREATED, now, {"subject": made.email, "by": "invitation"})
    else:
        made = replace(user, proof=offer.proof)
        what = account_event(theirs, EventType.PASSWORD_SET, now, {"subject": made.email})
    events = [membership(theirs, made, offer.tenant_id, None, offer.role, now), what]
    password_hash = await hasher.hash_password(checked)
    if not await desk.stores.accounts.accept(digest(token), made, password_hash, user is None, events):
        raise wrong_link()
    return replace(made, has_password=True)


async def accept_logged_in(desk: Desk, visit: LiveSession, token: str) -> MemberInvitation:
    """Accepts with the logged-in account, if the invitation is for its address and that was verified."""
    offer = await find_invitation(desk, token)
    user = visit.user
    if offer.email != user.email:
        raise Forbidden(
            f"this invitation is not for {user.email}; log out, then open the link again, or ask for "
            "another invitation",
            scope="session",
        )
    if not user.is_proved:
        raise Conflict(
            f"the email address {user.email} was never verified; log out, open the link again and set a new "
            "password to accept",
            kind="user",
            name=user.email,
        )
    now = await desk.stores.schedule.now()
    event = membership(replace(desk, actor=f"user:{user.email}"), user, offer.tenant_id, None, offer.role, now)
    if not await desk.stores.accounts.accept(digest(token), user, None, False, [event]):
        raise wrong_link()
    return offer


def wrong_link() -> NotAuthenticated:
    return NotAuthenticated(
        "this link is not valid: it works once, within 24 hours; ask for a new one, or create one with "
        "`mainspring user link`"
    )


async def _offer(desk: Desk, hasher: PasswordHasher, email: str, role: Role, name: str, proof: str) -> str:
    now = await desk.stores.schedule.now()
    token = INVITATION_PREFIX + new_token(hasher)
    offer = MemberInvitation(desk.tenant_id, email, name, role, proof, now, now + LINK_LIFE)
    event = _offered(desk, email, None, role, offer)
    await desk.stores.accounts.put_invitation(offer, digest(token), event)
    await _void_password_of_others(desk, email, offer)
    return token


async def _void_password_of_others(desk: Desk, email: str, offer: MemberInvitation) -> None:
    """A password set through another tenant's link is vouched for by that tenant only and must not count here."""
    user, _ = await desk.stores.accounts.user(email) or (None, "")
    if user is None or user.is_proved or not user.has_password or user.proof == proof_by_tenant(desk.tenant_id):
        return
    data: dict[str, object] = {"subject": email, "before": {"password": True}, "after": {"password": False}}
    event = Event(EventType.USER_UPDATED, offer.created_at, INSTALLATION, actor=desk.actor, data=data)
    await desk.stores.accounts.put_password(user.id, "", user.proof, event)


async def _change_offer(desk: Desk, member: Member, role: Role | None) -> None:
    if role is member.role:
        return
    now = await desk.stores.schedule.now()
    data: dict[str, object] = {"subject": member.email, "before": member.role, "after": role}
    event = Event(EventType.MEMBER_INVITED, now, desk.tenant_id, actor=desk.actor, data=data)
    await desk.stores.accounts.set_invited_role(desk.tenant_id, member.email, role, event)


def _offered(desk: Desk, email: str, before: Role | None, after: Role, offer: MemberInvitation) -> Event:
    data: dict[str, object] = {"subject": email, "before": before, "after": after}
    return Event(EventType.MEMBER_INVITED, offer.created_at, desk.tenant_id, actor=desk.actor, data=data)


async def _put_role(desk: Desk, user: User, before: Role, role: Role | None) -> None:
    if before is role:
        return
    event = membership(desk, user, desk.tenant_id, before, role, await desk.stores.schedule.now())
    await desk.stores.accounts.put_member(desk.tenant_id, user.id, role, event)
