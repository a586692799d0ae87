"""Users of the installation (for its operators), and members of a tenant (for its owners)."""

from typing import Annotated

from fastapi import APIRouter, Path, Request

from mainspring.api.access import Administering, Operating, Reading
from mainspring.api.context import Context
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
from mainspring.domain.account import check_role
from mainspring.operations import accounts
from mainspring.shapes import Shape, member_shape, user_shape

router = APIRouter(tags=["users"])

UserRef = Annotated[str, Path(max_length=300, description="A user's id or e-mail address.")]


@router.get("/users", response_model=Users)
async def list_users(desk: Operating) -> Shape:
    return {"items": [user_shape(user) for user in await desk.stores.accounts.users()]}


@router.post("/users", status_code=201, response_model=Invited)
async def create_user(desk: Operating, wish: UserNew, request: Request) -> Shape:
    """Add a user, who gets a link to set a password."""
    context: Context = request.app.state.context
    place = (wish.tenant, check_role(wish.role)) if wish.tenant else None
    made = await accounts.add_user(
        desk, context.locksmith, wish.email, wish.name, is_operator=wish.operator, place=place
    )
    return {"user": user_shape(made.user), "link": link_of(request, made.token)}


@router.get("/users/{user}", response_model=User)
async def read_user(desk: Operating, user: UserRef) -> Shape:
    return user_shape(await accounts.find_user(desk, user))


@router.patch("/users/{user}", response_model=User)
async def update_user(desk: Operating, user: UserRef, wish: UserPatch) -> Shape:
    """Rename, disable or enable a user. Disabling ends all its sessions at once."""
    edited = await accounts.edit_user(desk, user, name=wish.name, disabled=wish.disabled, is_operator=wish.operator)
    return user_shape(edited)


@router.post("/users/{user}/link", status_code=201, response_model=Invited)
async def create_user_link(desk: Operating, user: UserRef, request: Request) -> Shape:
    """A link by which the user sets a new password, once, within 24 hours."""
    context: Context = request.app.state.context
    made = await accounts.make_link(desk, context.locksmith, user)
    return {"user": user_shape(made.user), "link": link_of(request, made.token)}


@router.get("/members", response_model=Members)
async def list_members(desk: Reading) -> Shape:
    """Who belongs to the tenant, and with which role."""
    return {"items": [member_shape(member) for member in await desk.stores.accounts.members(desk.tenant_id)]}


@router.post("/members", status_code=201, response_model=MemberAdded)
async def create_member(desk: Administering, wish: MemberNew, request: Request) -> Shape:
    """Take somebody into the tenant; who is not a user yet becomes one, and gets a link to set a password."""
    context: Context = request.app.state.context
    member, token = await accounts.add_member(desk, context.locksmith, wish.email, wish.role, wish.name)
    return {"member": member_shape(member), "link": link_of(request, token)}


@router.patch("/members/{user}", response_model=Member)
async def update_member(desk: Administering, user: UserRef, wish: RoleWish) -> Shape:
    """Give a member another role. A tenant keeps at least one owner."""
    return member_shape(await accounts.set_role(desk, user, wish.role))


@router.delete("/members/{user}", response_model=Member)
async def remove_member(desk: Administering, user: UserRef) -> Shape:
    """Take a member out of the tenant; the user stays."""
    return member_shape(await accounts.remove_member(desk, user))


def link_of(request: Request, token: str) -> str | None:
    """Behind the #, where no server and no log sees it."""
    context: Context = request.app.state.context
    site = context.settings.public_url.rstrip("/") or str(request.base_url).rstrip("/")
    return f"{site}/setup#token={token}" if token else None
