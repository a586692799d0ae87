"""Users of the installation (for its operators), and members of a tenant (for its owners)."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.access import Administering, Operating, Reading
from mainspring.api.answers import Rehearsed
from mainspring.api.context import Context
from mainspring.api.fields import DryRun
from mainspring.api.people import (
    Invited,
    Member,
    MemberAdded,
    MemberNew,
    Members,
    RoleWish,
    User,
    UserNew,
    UserPatch,
    Users,
)
from mainspring.api.sights import compared
from mainspring.domain.account import check_role
from mainspring.operations import accounts
from mainspring.operations.account_rehearsal import rehearsed
from mainspring.shapes import Shape, member_shape, user_shape

router = APIRouter(tags=["users"])

UserRef = Annotated[str, Path(max_length=300, description="A user's id or e-mail address.")]


@router.get("/users", response_model=Users)
async def list_users(desk: Operating) -> Shape:
    return {"items": [user_shape(user) for user in await desk.stores.accounts.users()]}


@router.post("/users", status_code=201, response_model=Invited | Rehearsed[User])
async def create_user(
    desk: Operating, wish: UserNew, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """Add a user, who gets a link to set a password."""
    context: Context = request.app.state.context
    place = (wish.tenant, check_role(wish.role)) if wish.tenant else None
    made = await accounts.add_user(
        rehearsed(desk) if dry_run else desk,
        context.locksmith,
        wish.email,
        wish.name,
        is_operator=wish.operator,
        place=place,
    )
    if dry_run:
        response.status_code = 200
        return compared(None, user_shape(made.user))
    return {"user": user_shape(made.user), "link": link_of(request, made.token)}


@router.get("/users/{user}", response_model=User)
async def read_user(desk: Operating, user: UserRef) -> Shape:
    return user_shape(await accounts.find_user(desk, user))


@router.patch("/users/{user}", response_model=User | Rehearsed[User])
async def update_user(desk: Operating, user: UserRef, wish: UserPatch, dry_run: DryRun = False) -> Shape:
    """Rename, disable or enable a user. Disabling ends all its sessions at once."""
    before = await accounts.find_user(desk, user)
    there = rehearsed(desk) if dry_run else desk
    edited = await accounts.edit_user(there, user, name=wish.name, disabled=wish.disabled, is_operator=wish.operator)
    return compared(user_shape(before), user_shape(edited)) if dry_run else user_shape(edited)


@router.post("/users/{user}/link", status_code=201, response_model=Invited | Rehearsed[User])
async def create_user_link(
    desk: Operating, user: UserRef, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """A link by which the user sets a new password, once, within 24 hours."""
    if dry_run:
        response.status_code = 200
        there = user_shape(await accounts.find_user(desk, user))
        return compared(there, there)
    context: Context = request.app.state.context
    made = await accounts.make_link(desk, context.locksmith, user)
    return {"user": user_shape(made.user), "link": link_of(request, made.token)}


@router.get("/members", response_model=Members)
async def list_members(desk: Reading) -> Shape:
    """Who belongs to the tenant, and with which role."""
    return {"items": [member_shape(member) for member in await desk.stores.accounts.members(desk.tenant_id)]}


@router.post("/members", status_code=201, response_model=MemberAdded | Rehearsed[Member])
async def create_member(
    desk: Administering, wish: MemberNew, request: Request, response: Response, dry_run: DryRun = False
) -> Shape:
    """Take somebody into the tenant; who is not a user yet becomes one, and gets a link to set a password."""
    context: Context = request.app.state.context
    there = rehearsed(desk) if dry_run else desk
    member, token = await accounts.add_member(there, context.locksmith, wish.email, wish.role, wish.name)
    if dry_run:
        response.status_code = 200
        return compared(None, member_shape(member))
    return {"member": member_shape(member), "link": link_of(request, token)}


@router.patch("/members/{user}", response_model=Member | Rehearsed[Member])
async def update_member(desk: Administering, user: UserRef, wish: RoleWish, dry_run: DryRun = False) -> Shape:
    """Give a member another role. A tenant keeps at least one owner."""
    before = await accounts.find_member(desk, user)
    after = member_shape(await accounts.set_role(rehearsed(desk) if dry_run else desk, user, wish.role))
    return compared(member_shape(before), after) if dry_run else after


@router.delete("/members/{user}", response_model=Member | Rehearsed[Member])
async def remove_member(desk: Administering, user: UserRef, dry_run: DryRun = False) -> Shape:
    """Take a member out of the tenant; the user stays."""
    removed = member_shape(await accounts.remove_member(rehearsed(desk) if dry_run else desk, user))
    return compared(removed, None) if dry_run else removed


def link_of(request: Request, token: str) -> str | None:
    """Behind the #, where no server and no log sees it."""
    context: Context = request.app.state.context
    site = context.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
    return f"{site}/setup#token={token}" if token else None
