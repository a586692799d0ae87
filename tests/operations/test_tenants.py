"""Quotas of a tenant, and targets and headers that no tenant may have."""

import pytest
from msgspec.structs import replace
from tests.actions import http_of
from tests.harness.config import a_config, edited

from mainspring.domain.endpoint import Tenant
from mainspring.domain.errors import InvalidInput, NotFound
from mainspring.domain.run import Header
from mainspring.operations.context import Desk
from mainspring.operations.endpoints import add_endpoint, edit_endpoint
from mainspring.operations.tenants import DEFAULT_QUOTAS, add_tenant, find_tenant, set_quotas
from mainspring.ports.endpoints import EndpointFilter

HEALTH = a_config(name="health", url="https://example.com/", interval_ms=60_000)


async def test_quota_that_is_set_leaves_the_others(desk: Desk) -> None:
    await set_quotas(desk, lambda tenant: replace(tenant, runs_per_month=1_000))
    await set_quotas(desk, lambda tenant: replace(tenant, endpoints_max=5))

    assert await find_tenant(desk) == Tenant("default", "default", runs_per_month=1_000, endpoints_max=5)


@pytest.mark.parametrize("quota", ["runs_per_month", "tokens_per_month", "endpoints_max", "interval_ms_min"])
@pytest.mark.parametrize("value", [-1, 10**16])
async def test_quota_out_of_bounds_is_refused(desk: Desk, quota: str, value: int) -> None:
    before = await find_tenant(desk)

    with pytest.raises(InvalidInput, match=f"quota {quota} {value} is out of bounds; give 0 to"):
        await set_quotas(desk, lambda tenant: replace(tenant, **{quota: value}))

    assert await find_tenant(desk) == before


async def test_tenant_that_is_not_there_is_not_found(desk: Desk) -> None:
    with pytest.raises(NotFound, match="no tenant 'nobody'"):
        await find_tenant(replace(desk, tenant_id="nobody"))


async def test_target_that_is_never_called_is_neither_added_nor_edited_to(desk: Desk) -> None:
    strict = replace(desk, never_called=lambda host: "it is a metadata address" if host == "192.0.2.1" else None)
    await add_endpoint(strict, HEALTH)

    with pytest.raises(InvalidInput, match="is never called: it is a metadata address; choose another target"):
        await add_endpoint(strict, edited(HEALTH, name="other", url="http://192.0.2.1:8080/"))
    with pytest.raises(InvalidInput, match="is never called"):
        await edit_endpoint(strict, "health", lambda before: edited(before, url="http://192.0.2.1/"))

    (health,) = await desk.stores.endpoints.endpoints("default", EndpointFilter())
    assert http_of(health).url == "https://example.com/"


async def test_every_new_secret_of_an_edit_is_sealed_also_two_of_one_name(desk: Desk) -> None:
    await add_endpoint(desk, edited(HEALTH, headers=(Header("X-Plain", "seen"),)))
    secrets = (Header("X-Token", "hunter-one"), Header("X-Token", "hunter-two"))
    change = await edit_endpoint(desk, "health", lambda old: edited(old, headers=http_of(old).headers + secrets))

    kept = http_of(change.endpoint).headers
    place = f"default|{change.endpoint.id}|header:x-token"
    assert kept[0] == Header("X-Plain", "seen")
    assert [desk.vault.open(header.value, place) for header in kept[1:]] == ["hunter-one", "hunter-two"]


async def test_new_tenant_has_quotas_that_an_operator_can_change(desk: Desk) -> None:
    made = await add_tenant(desk, "acme")
    there = replace(desk, tenant_id="acme")
    raised = await set_quotas(there, lambda present: replace(present, endpoints_max=None))

    assert made == replace(DEFAULT_QUOTAS, id="acme", name="acme")
    assert None not in (made.runs_per_month, made.tokens_per_month, made.endpoints_max, made.interval_ms_min)
    assert raised.endpoints_max is None
