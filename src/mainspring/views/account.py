"""Users, members, invitations and logins as every door shows them."""

from typing import Any, Literal, Self

from pydantic import Field

from mainspring.domain.access.account import LoginSession, Member, Membership, User
from mainspring.domain.access.passkey import Passkey
from mainspring.operations.links import LinkInfo
from mainspring.views.api_key import ScopeName
from mainspring.views.view import At, OrNull, View

RoleName = Literal["viewer", "operator", "owner"]


class UserView(View):
    id: str
    email: str
    name: str
    operator: bool
    disabled: bool
    has_password: bool
    oidc: bool = Field(description="Has logged in through the OIDC issuer.")
    created_at: At

    @classmethod
    def of(cls, user: User) -> Self:
        return cls.from_value(
            user, operator=user.is_operator, disabled=user.disabled_at is not None, oidc=bool(user.subject)
        )


class Invited(View):
    user: UserView
    link: str | None = Field(
        description="Opens once, within 24 hours, to set a password. It is shown here only; null where it was emailed."
    )
    emailed: bool = Field(description="Whether the link was sent to the address.")


class MembershipView(View):
    tenant: str
    name: str
    role: RoleName

    @classmethod
    def of(cls, membership: Membership) -> Self:
        return cls.from_value(membership, tenant=membership.tenant_id, name=membership.tenant_name)


class Whoami(View):
    actor: str
    tenant: str | None
    scopes: list[ScopeName]
    operator: bool
    user: UserView | None = Field(description="Null for an API key.")
    tenants: list[MembershipView] = Field(
        description="Where the user belongs; the header X-Mainspring-Tenant chooses one."
    )
    sole_tenant: bool = Field(
        description="Whether the installation has one tenant. With more, addresses of the web UI name the tenant."
    )
    expires_at: At | None
    demo: bool = Field(description="Whether this is `mainspring demo`, where everybody is a visitor.")


class LoginSessionView(View):
    id: str
    current: bool = Field(description="Whether this is the session that asks.")
    address: OrNull = Field(description="Where it was begun.")
    agent: OrNull = Field(description="The browser or program that began it, in its own words.")
    created_at: At
    seen_at: At = Field(description="Within a minute.")
    expires_at: At

    @classmethod
    def of(cls, session: LoginSession, current_id: str) -> Self:
        return cls.from_value(session, current=session.id == current_id)


class SessionsEnded(View):
    ended: int


class FactorState(View):
    enabled: bool
    recovery_codes_left: int


class FactorBegun(View):
    secret: str = Field(description="To type into an app that shows codes. It is shown here only.")
    uri: str = Field(description="The same as an address that such an app reads: `otpauth://totp/...`.")


class FactorConfirmed(View):
    recovery_codes: list[str] = Field(description="Each opens once, without the app. They are shown here only.")


class PasskeyView(View):
    id: str
    name: str
    usable: bool = Field(description="False: it was added before the address was proved; remove it and add another.")
    created_at: At
    used_at: At | None

    @classmethod
    def of(cls, passkey: Passkey, user: User) -> Self:
        return cls.from_value(passkey, usable=passkey.is_good_for(user))


class PasskeyList(View):
    items: list[PasskeyView]
    unavailable: str | None = Field(description="Why passkeys cannot be used at this server's address; null: they can.")


class PasskeyChallenge(View):
    challenge: str = Field(description="To be sent with the answer; good once, for five minutes.")
    options: dict[str, Any] = Field(
        description="For `navigator.credentials.create` or `get`, as JSON: binary values are in base64url."
    )


class PasskeyAdded(View):
    passkey: PasskeyView
    recovery_codes: list[str] = Field(
        description="Where the user had none: each opens once, without a passkey. They are shown here only."
    )


class MemberView(View):
    user_id: OrNull = Field(description="Null for somebody who was invited and has not accepted yet.")
    email: str
    name: str
    role: RoleName
    disabled: bool
    status: Literal["active", "invited", "unproved", "disabled"] = Field(
        description="`unproved`: the password was set through another tenant's link and the address was never proved, "
        "so the account cannot be used here until the person gets a new link."
    )
    created_at: At
    expires_at: At | None = Field(description="Until when an invitation can be accepted.")

    @classmethod
    def of(cls, member: Member) -> Self:
        return cls.from_value(member)


class MemberAdded(View):
    member: MemberView
    link: str | None = Field(
        description="Accepts the invitation, once, within 24 hours. Shown here only; null where it was emailed."
    )
    emailed: bool = Field(description="Whether the link was sent to the address.")


class LinkView(View):
    use: Literal["first_owner", "password", "invitation"]
    email: OrNull
    tenant: str | None
    tenant_name: OrNull
    role: RoleName | None = Field(description="The role that an invitation offers.")
    needs_login: bool = Field(description="The address has an account: log in to it, then accept.")
    expires_at: At

    @classmethod
    def of(cls, link: LinkInfo) -> Self:
        return cls.from_value(link, tenant=link.tenant_id or None)
