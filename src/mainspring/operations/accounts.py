"""What may be asked for about users, members and links. Users belong to the installation, members to a tenant."""

from base64 import urlsafe_b64encode
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from mainspring.domain.access import Role
from mainspring.domain.account import (
    LINK_LIFE,
    Link,
    Member,
    User,
    check_email,
    check_password,
    check_role,
    digest,
    guess_bucket,
)
from mainspring.domain.audit import INSTALLATION
from mainspring.domain.errors import Conflict, InvalidInput, NotAuthenticated, NotFound
from mainspring.domain.event import Event, EventType
from mainspring.domain.name import check_name
from mainspring.operations.endpoints import Desk
from mainspring.operations.throttle import refuse_guesses
from mainspring.ports.accounts import ORIGIN
from mainspring.ports.outside import Locksmith


class Invitation(Struct, frozen=True):
    """A user, and the token of the link that lets it set a password; "" where none is needed."""

    user: User
    token: str = ""


async def add_user(
    desk: Desk,
    locksmith: Locksmith,
    email: str,
    name: str = "",
    *,
    password: str | None = None,
    is_operator: bool = False,
    place: tuple[str, Role] | None = None,
) -> Invitation:
    """Make a user. Without a password it gets a link to set one."""
    email = check_email(email)
    password_hash = "" if password is None else await locksmith.hash_password(check_password(password, email))
    now = await desk.stores.schedule.now()
    user = _new_user(desk, email, name, is_operator, now)
    if place is not None and await desk.stores.endpoints.tenant(place[0]) is None:
        raise NotFound("tenant", place[0])
    await desk.stores.accounts.add_user(user, password_hash, place, _arrival(desk, user, place), first=False)
    if password is not None:
        return Invitation(replace(user, has_password=True))
    return Invitation(user, await _new_link(desk, locksmith, user.id, now))


async def find_user(desk: Desk, email_or_id: str) -> User:
    found = await desk.stores.accounts.user(email_or_id.strip().lower() if "@" in email_or_id else email_or_id)
    if found is None or not email_or_id:
        raise NotFound("user", email_or_id, tuple(user.email for user in await desk.stores.accounts.users()))
    return found[0]


async def edit_user(
    desk: Desk,
    email_or_id: str,
    *,
    name: str | None = None,
    disabled: bool | None = None,
    is_operator: bool | None = None,
) -> User:
    """Rename, disable, enable. A disabled user cannot log in, and its sessions end at once; its keys stay."""
    user = await find_user(desk, email_or_id)
    now = await desk.stores.schedule.now()
    edited = replace(
        user,
        name=user.name if name is None else check_name(name, field="name", kind="user"),
        disabled_at=user.disabled_at if disabled is None else (user.disabled_at or now) if disabled else None,
        is_operator=user.is_operator if is_operator is None else is_operator,
    )
    if edited == user:
        return user
    await _keep_an_operator(desk, user, edited)
    data: dict[str, object] = {"subject": user.email, "before": _visible(user), "after": _visible(edited)}
    await desk.stores.accounts.put_user(edited, _event(desk, EventType.USER_UPDATED, now, data))
    return edited


async def set_password(desk: Desk, locksmith: Locksmith, email_or_id: str, password: str) -> User:
    """All sessions of the user end."""
    user = await find_user(desk, email_or_id)
    password_hash = await locksmith.hash_password(check_password(password, user.email))
    now = await desk.stores.schedule.now()
    event = _event(desk, EventType.PASSWORD_SET, now, {"subject": user.email})
    await desk.stores.accounts.put_password(user.id, password_hash, event)
    return user


async def make_setup_link(desk: Desk, locksmith: Locksmith) -> str:
    """The token of a link that makes the first owner. Only while there is no user."""
    if await desk.stores.accounts.users():
        raise Conflict(
            "this installation has users already; make a link for one of them: mainspring user link EMAIL",
            kind="user",
            name="",
        )
    return await _new_link(desk, locksmith, "", await desk.stores.schedule.now())


async def make_link(desk: Desk, locksmith: Locksmith, email_or_id: str) -> Invitation:
    """A link by which a user sets a (new) password, once, within 24 hours."""
    user = await find_user(desk, email_or_id)
    return Invitation(user, await _new_link(desk, locksmith, user.id, await desk.stores.schedule.now()))


async def use_link(
    desk: Desk, locksmith: Locksmith, token: str, password: str, email: str | None = None, name: str = ""
) -> User:
    """Set the password of the link's user; or make the first owner, of the desk's tenant and of the installation.

    What was sent is checked before the link is used up: a password that is too short costs no link.
    """
    wanted_email = check_email(email) if email else ""
    password_hash = await locksmith.hash_password(check_password(password, wanted_email))
    link = await desk.stores.accounts.take_link(digest(token))
    if link is None:
        await refuse_guesses(desk.stores, guess_bucket(ORIGIN.get()))
        raise NotAuthenticated(
            "this link is not valid: it opens once, and for 24 hours; make a new one with `mainspring user link`"
        )
    if link.user_id:
        user = await find_user(replace(desk, tenant_id=INSTALLATION), link.user_id)
        now = await desk.stores.schedule.now()
        event = replace(_event(desk, EventType.PASSWORD_SET, now, {"subject": user.email}), actor=f"user:{user.email}")
        await desk.stores.accounts.put_password(user.id, password_hash, event)
        return user
    return await _add_owner(desk, locksmith, link, token, password_hash, wanted_email, name)


async def add_member(desk: Desk, locksmith: Locksmith, email: str, role: str, name: str = "") -> tuple[Member, str]:
    """Give somebody a role in the tenant; who is not a user yet becomes one, with a link to set a password."""
    email, wanted = check_email(email), check_role(role)
    found = await desk.stores.accounts.user(email)
    if found is None:
        made = await add_user(desk, locksmith, email, name, place=(desk.tenant_id, wanted))
        return await find_member(desk, made.user.id), made.token
    await _put_role(desk, found[0], wanted)
    return await find_member(desk, found[0].id), ""


async def set_role(desk: Desk, email_or_id: str, role: str) -> Member:
    member, wanted = await find_member(desk, email_or_id), check_role(role)
    await _put_role(desk, await find_user(desk, member.user_id), wanted)
    return await find_member(desk, member.user_id)


async def remove_member(desk: Desk, email_or_id: str) -> Member:
    member = await find_member(desk, email_or_id)
    await _put_role(desk, await find_user(desk, member.user_id), None)
    return member


async def find_member(desk: Desk, email_or_id: str) -> Member:
    members = await desk.stores.accounts.members(desk.tenant_id)
    for member in members:
        if email_or_id.strip().lower() in (member.user_id, member.email):
            return member
    raise NotFound("member", email_or_id, tuple(member.email for member in members))


async def _put_role(desk: Desk, user: User, role: Role | None) -> None:
    members = await desk.stores.accounts.members(desk.tenant_id)
    before = next((member.role for member in members if member.user_id == user.id), None)
    if before is role:
        return
    event = _membership(desk, user, desk.tenant_id, before, role, await desk.stores.schedule.now())
    await desk.stores.accounts.put_member(desk.tenant_id, user.id, role, event)


async def _add_owner(
    desk: Desk, locksmith: Locksmith, link: Link, token: str, password_hash: str, email: str, name: str
) -> User:
    if not email:
        await desk.stores.accounts.add_link(digest(token), link)
        raise InvalidInput("the first owner needs an e-mail address; send email too", field="email")
    now = await desk.stores.schedule.now()
    theirs = replace(desk, actor=f"user:{email}")
    user = _new_user(theirs, email, name, True, now)
    place = (desk.tenant_id, Role.OWNER)
    arrival = _arrival(theirs, user, place)
    if not await desk.stores.accounts.add_user(user, password_hash, place, arrival, first=True):
        raise Conflict("somebody has become the owner already; log in, or ask them for a link", kind="user", name=email)
    return replace(user, has_password=True)


async def _new_link(desk: Desk, locksmith: Locksmith, user_id: str, now: datetime) -> str:
    token = new_token(locksmith)
    await desk.stores.accounts.add_link(digest(token), Link(user_id, now + LINK_LIFE))
    return token


def new_token(locksmith: Locksmith) -> str:
    return urlsafe_b64encode(locksmith.new_secret()).decode().rstrip("=")


async def _keep_an_operator(desk: Desk, user: User, edited: User) -> None:
    if not user.is_operator or (edited.is_operator and edited.disabled_at is None):
        return
    others = await desk.stores.accounts.users()
    if not any(each.is_operator and each.disabled_at is None and each.id != user.id for each in others):
        raise Conflict(
            f"{user.email} is the last operator of this installation; make another user operator first",
            kind="user",
            name=user.email,
        )


def _new_user(desk: Desk, email: str, name: str, is_operator: bool, now: datetime) -> User:
    shown_name = check_name(name or email.partition("@")[0][:100], field="name", kind="user")
    return User(desk.ids.new("usr", now), email, shown_name, is_operator, now)


def _arrival(desk: Desk, user: User, place: tuple[str, Role] | None) -> list[Event]:
    data: dict[str, object] = {"subject": user.email, "after": _visible(user)}
    events = [_event(desk, EventType.USER_CREATED, user.created_at, data)]
    if place is not None:
        events.append(_membership(desk, user, place[0], None, place[1], user.created_at))
    return events


def _membership(
    desk: Desk, user: User, tenant_id: str, before: Role | None, after: Role | None, now: datetime
) -> Event:
    data: dict[str, object] = {"subject": user.email, "before": before, "after": after}
    return Event(EventType.MEMBER_CHANGED, now, tenant_id, actor=desk.actor, data=data)


def _event(desk: Desk, kind: EventType, now: datetime, data: dict[str, object]) -> Event:
    return Event(kind, now, INSTALLATION, actor=desk.actor, data=data)


def _visible(user: User) -> dict[str, object]:
    return {"name": user.name, "operator": user.is_operator, "disabled": user.disabled_at is not None}
