"""Users, tenants, members, invitations, logins, API keys and signing keys, as all interfaces show them.

A secret is shown once, when it is created.
"""

from datetime import datetime
from typing import Any, Literal, Self

from pydantic import Field

from mainspring.domain.access.account import ApiKey, LoginSession, Member, Membership, User
from mainspring.domain.access.passkey import Passkey
from mainspring.domain.endpoint import Tenant
from mainspring.operations.links import LinkInfo
from mainspring.views.view import At, OrNull, View, differences


class Quotas(View):
    """null: no limit."""

    runs_per_month: int | None
    tokens_per_month: int | None
    endpoints_max: int | None
    interval_ms_min: int | None

    @classmethod
    def of(cls, tenant: Tenant) -> Self:
        return cls.from_value(tenant)


class QuotasDryRun(View):
    dry_run: Literal[True] = True
    before: Quotas
    after: Quotas
    changed: list[str]

    @classmethod
    def of(cls, before: Quotas, after: Quotas) -> Self:
        return cls(before=before, after=after, changed=differences(before, after))


class Usage(View):
    tenant: str
    name: str
    signing_keys: int = Field(description="Number of keys that sign its calls.")
    quotas: Quotas
    runs_this_month: int
    endpoints: int

    @classmethod
    def of(cls, tenant: Tenant, endpoints: int) -> Self:
        signing_keys, quotas = len(tenant.signing_keys), Quotas.of(tenant)
        return cls.from_value(tenant, tenant=tenant.id, signing_keys=signing_keys, quotas=quotas, endpoints=endpoints)


class TenantView(View):
    id: str
    name: str
    runs_per_month: int | None
    tokens_per_month: int | None
    endpoints_max: int | None
    interval_ms_min: int | None
    runs_this_month: int
    signing_keys: int

    @classmethod
    def of(cls, tenant: Tenant) -> Self:
        return cls.from_value(tenant, signing_keys=len(tenant.signing_keys))

    @classmethod
    def of_usage(cls, usage: Usage) -> Self:
        return cls.from_value(usage, id=usage.tenant, **dict(usage.quotas))


ScopeName = Literal["read", "run", "write", "admin"]


class ApiKeyView(View):
    id: str
    name: str
    scopes: list[ScopeName]
    operator: bool
    status: Literal["live", "expired", "revoked"]
    created_by: str
    created_at: At
    expires_at: At
    last_used_at: At | None = Field(description="Within a minute.")
    revoked_at: At | None

    @classmethod
    def of(cls, key: ApiKey, now: datetime, /, **others: object) -> Self:
        status = "revoked" if key.revoked_at else "live" if key.is_live(now) else "expired"
        return cls.from_value(key, scopes=sorted(key.scopes), operator=key.is_operator, status=status, **others)


class ApiKeyCreated(ApiKeyView):
    key: str = Field(description="The key. It is shown only here.", examples=["ms_8f3aK2xZ_..."])


class SigningKey(View):
    id: str
    created_at: At


class SigningKeyCreated(View):
    id: str
    secret: str = Field(description="It is shown only here. Receivers need it to verify the webhook-signature header.")


class Revoked(View):
    id: str
    revoked: Literal[True] = True


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
        description="Link to set a password, valid once within 24 hours. It is shown only here; null if it was emailed."
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
        description="Tenants of the user. The header X-Mainspring-Tenant selects one."
    )
    sole_tenant: bool = Field(
        description="Whether the installation has only one tenant. Otherwise URLs of the web UI contain the tenant."
    )
    expires_at: At | None
    demo: bool = Field(description="Whether this is `mainspring demo`, where every user is a visitor.")


class LoginSessionView(View):
    id: str
    current: bool = Field(description="Whether this is the session of this request.")
    address: OrNull = Field(description="Address from which the session was started.")
    agent: OrNull = Field(description="User agent that started the session.")
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
    secret: str = Field(description="Secret for an authenticator app. It is shown only here.")
    uri: str = Field(description="The same secret as a URL for the app: `otpauth://totp/...`.")


class FactorConfirmed(View):
    recovery_codes: list[str] = Field(
        description="Recovery codes, each valid once without the app. They are shown only here."
    )


class PasskeyView(View):
    id: str
    name: str
    usable: bool = Field(
        description="False: the passkey was added before the address was confirmed; remove it and add another."
    )
    created_at: At
    used_at: At | None

    @classmethod
    def of(cls, passkey: Passkey, user: User) -> Self:
        return cls.from_value(passkey, usable=passkey.is_good_for(user))


class PasskeyList(View):
    items: list[PasskeyView]
    unavailable: str | None = Field(description="Why passkeys cannot be used at this server's address; null: they can.")


class PasskeyChallenge(View):
    challenge: str = Field(description="Send it with the response; valid once, for five minutes.")
    options: dict[str, Any] = Field(
        description="For `navigator.credentials.create` or `get`, as JSON: binary values are in base64url."
    )


class PasskeyAdded(View):
    passkey: PasskeyView
    recovery_codes: list[str] = Field(
        description="New recovery codes if the user had none, each valid once. They are shown only here."
    )


class MemberView(View):
    user_id: OrNull = Field(description="Null for a person who has not accepted the invitation yet.")
    email: str
    name: str
    role: RoleName
    disabled: bool
    status: Literal["active", "invited", "unproved", "disabled"] = Field(
        description="`unproved`: the password was set through another tenant's link and the address was never "
        "confirmed. The account cannot be used here until the person gets a new link."
    )
    created_at: At
    expires_at: At | None = Field(description="When the invitation expires.")

    @classmethod
    def of(cls, member: Member) -> Self:
        return cls.from_value(member)


class MemberAdded(View):
    member: MemberView
    link: str | None = Field(
        description="Link to accept the invitation, valid once within 24 hours. Not shown again; null if emailed."
    )
    emailed: bool = Field(description="Whether the link was sent to the address.")


class LinkView(View):
    use: Literal["first_owner", "password", "invitation"]
    email: OrNull
    tenant: str | None
    tenant_name: OrNull
    role: RoleName | None = Field(description="The role that an invitation offers.")
    needs_login: bool = Field(description="Whether the address has an account. If so, log in to it, then accept.")
    expires_at: At

    @classmethod
    def of(cls, link: LinkInfo) -> Self:
        return cls.from_value(link, tenant=link.tenant_id or None)
