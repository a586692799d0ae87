"""Tenants, their quotas and what they used, as every door shows them."""

from typing import Literal, Self

from pydantic import Field

from mainspring.domain.endpoint import Tenant
from mainspring.views.view import View, differences


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
    signing_keys: int = Field(description="How many keys sign its calls.")
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
