"""Users of the installation (for its operators), and members of a tenant (for its owners)."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from mainspring.api.access import Administering, Known, Operating, Reading
from mainspring.api.context import Context
from mainspring.api.links import hand_out, proof_of, sends_links
from mainspring.api.models.accounts import MemberNew, RoleChange, UserNew, UserPatch
from mainspring.api.models.fields import DryRun
from mainspring.domain.access.account import check_email, check_role
from mainspring.domain.access.scope import SCOPES_OF, Principal, Scope
from mainspring.operations import accounts, members, second_factor
from mainspring.operations.accounts import account_dry_run
from mainspring.operations.login_limit import refuse_invitations
from mainspring.views.account import Invited, MemberAdded, MemberView, UserView
from mainspring.views.view import DryRunOf, ListOf

router = APIRouter(tags=["users"])

WELCOME = "An account was created for you on Mainspring. Set your password:"
RESET = "Set a new password for your Mainspring account:"
INVITED = "You are invited to a tenant on Mainspring. Open the link to see the invitation and accept it:"
UserRef = Annotated[str, Path(max_length=300, description="A user's id or email address.")]


@router.get("/users")
async def list_users(desk: Operating) -> ListOf[UserView]:
    return ListOf(items=[UserView.of(user) for user in await desk.stores.accounts.users()])


@router.post(
    "/users",
    status_code=201,
    responses={200: {"model": DryRunOf[UserView]}},
)
async def create_user(
    desk: Operating,
    principal: Known,
    wish: UserNew,
    request: Request,
    response: Response,
    dry_run: DryRun = False,
) -> Invited | DryRunOf[UserView]:
    """Create a user, who gets a link to set a password."""
    context: Context = request.app.state.context
    place = (wish.tenant, check_role(wish.role)) if wish.tenant else None
    _require_grant(principal, SCOPES_OF[place[1]] if place else frozenset(), is_operator=wish.operator)
    made = await accounts.add_user(
        account_dry_run(desk) if dry_run else desk,
        context.hasher,
        wish.email,
        wish.name,
        is_operator=wish.operator,
        place=place,
    )
    if dry_run:
        response.status_code = 200
        return DryRunOf[UserView].of(None, UserView.of(made.user))
    link, emailed = await hand_out(request, made.user.email, made.token, WELCOME, to_operator=True)
    return Invited(user=UserView.of(made.user), link=link, emailed=emailed)


@router.get("/users/{user}")
async def read_user(desk: Operating, user: UserRef) -> UserView:
    return UserView.of(await accounts.find_user(desk, user))


@router.patch("/users/{user}")
async def update_user(
    desk: Operating, principal: Known, user: UserRef, wish: UserPatch, dry_run: DryRun = False
) -> UserView | DryRunOf[UserView]:
    """Rename, disable or enable a user. Disabling ends all sessions."""
    _require_grant(principal, frozenset(), is_operator=bool(wish.operator))
    before = await accounts.find_user(desk, user)
    there = account_dry_run(desk) if dry_run else desk
    edited = await accounts.edit_user(there, user, name=wish.name, disabled=wish.disabled, is_operator=wish.operator)
    after = UserView.of(edited)
    return DryRunOf[UserView].of(UserView.of(before), after) if dry_run else after


@router.post(
    "/users/{user}/link",
    status_code=201,
    responses={200: {"model": DryRunOf[UserView]}},
)
async def create_user_link(
    desk: Operating, principal: Known, user: UserRef, request: Request, response: Response, dry_run: DryRun = False
) -> Invited | DryRunOf[UserView]:
    """Create a link with which the user sets a new password, once, within 24 hours. Sent by email if possible."""
    _require_grant(principal, frozenset(Scope), is_operator=True)
    if dry_run:
        response.status_code = 200
        there = UserView.of(await accounts.find_user(desk, user))
        return DryRunOf[UserView].of(there, there)
    context: Context = request.app.state.context
    made = await accounts.make_link(desk, context.hasher, user)
    link, emailed = await hand_out(request, made.user.email, made.token, RESET, to_operator=True)
    return Invited(user=UserView.of(made.user), link=link, emailed=emailed)


@router.delete("/users/{user}/second-factor")
async def reset_second_factor(
    desk: Operating, principal: Known, user: UserRef, dry_run: DryRun = False
) -> UserView | DryRunOf[UserView]:
    """Remove the second factor of a user who has lost it; the login then needs only the password."""
    _require_grant(principal, frozenset(Scope), is_operator=True)
    found = await accounts.find_user(desk, user)
    view = UserView.of(found)
    if dry_run:
        return DryRunOf[UserView].of(view, view)
    await second_factor.reset(desk, found)
    return view


@router.get("/members")
async def list_members(desk: Reading) -> ListOf[MemberView]:
    """Members of the tenant with their roles, including invited people who have not accepted yet."""
    return ListOf(items=[MemberView.of(member) for member in await members.list_members(desk)])


@router.post(
    "/members",
    status_code=201,
    responses={200: {"model": DryRunOf[MemberView]}},
)
async def create_member(
    desk: Administering,
    principal: Known,
    wish: MemberNew,
    request: Request,
    response: Response,
    dry_run: DryRun = False,
) -> MemberAdded | DryRunOf[MemberView]:
    """Invite an email address to the tenant. The person becomes a member by accepting.

    The response is the same whether or not the address has an account. The link is sent by email if a mail server is
    configured; otherwise it is shown here once. A role cannot have scopes that the caller lacks.
    """
    _require_grant(principal, SCOPES_OF[check_role(wish.role)])
    context: Context = request.app.state.context
    there = account_dry_run(desk) if dry_run else desk
    if sends_links(request) and not dry_run:
        await refuse_invitations(desk.stores, desk.tenant_id, check_email(wish.email))
    member, token = await members.add_member(
        there, context.hasher, wish.email, wish.role, wish.name, proof=proof_of(request, principal)
    )
    if dry_run:
        response.status_code = 200
        return DryRunOf[MemberView].of(None, MemberView.of(member))
    link, emailed = await hand_out(request, member.email, token, INVITED)
    return MemberAdded(member=MemberView.of(member), link=link, emailed=emailed)


@router.patch("/members/{user}")
async def update_member(
    desk: Administering, principal: Known, user: UserRef, wish: RoleChange, dry_run: DryRun = False
) -> MemberView | DryRunOf[MemberView]:
    """Change the role of a member, at most to the caller's own. A tenant keeps at least one owner."""
    _require_grant(principal, SCOPES_OF[check_role(wish.role)])
    before = await members.find_member(desk, user)
    after = MemberView.of(await members.set_role(account_dry_run(desk) if dry_run else desk, user, wish.role))
    return DryRunOf[MemberView].of(MemberView.of(before), after) if dry_run else after


@router.delete("/members/{user}")
async def remove_member(
    desk: Administering, user: UserRef, dry_run: DryRun = False
) -> MemberView | DryRunOf[MemberView]:
    """Remove a member from the tenant, or withdraw an invitation; the user account stays."""
    removed = MemberView.of(await members.remove_member(account_dry_run(desk) if dry_run else desk, user))
    return DryRunOf[MemberView].of(removed, None) if dry_run else removed


def _require_grant(principal: Principal, scopes: frozenset[Scope], *, is_operator: bool = False) -> None:
    """No route grants more than the caller has. An operator who is a person has every scope."""
    if principal.is_operator and principal.user_id:
        return
    for scope in sorted(frozenset(Scope) if is_operator else scopes):
        principal.require(scope)
