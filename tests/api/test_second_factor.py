"""A second factor: codes of an app, each good once, and recovery codes; on both databases, and over re-keying."""

from base64 import b32decode
from collections.abc import AsyncIterator

import pytest
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from fastapi import FastAPI
from httpx2 import Response
from msgspec.structs import replace

from mainspring.operations.accounts import make_link
from mainspring.operations.secret_rotation import seal_again
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from tests.api.people import LOCKSMITH, PASSWORD, Browser, a_user, at_the_desk, open_door
from tests.stores.databases import query
from tests.stores.world import FixedClock

FACTOR = "/api/v1/auth/second-factor"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    await a_user(stores, is_operator=True)
    async with open_door(stores, clock) as made:
        yield made


class App:
    """What shows the codes: it knows the secret and the time."""

    def __init__(self, secret: str, clock: FixedClock) -> None:
        self._totp = TOTP(b32decode(secret), 6, SHA1(), 30)  # what apps speak
        self._clock = clock

    def code(self, steps: int = 0) -> str:
        return self._totp.generate(int(self._clock.now().timestamp()) + 30 * steps).decode()


async def log_in(browser: Browser, code: str = "", password: str = PASSWORD) -> Response:
    wish = {"email": "ann@example.com", "password": password, "code": code}
    return await browser.post("/api/v1/auth/login", json=wish)


async def set_up(app: FastAPI, clock: FixedClock) -> tuple[App, list[str]]:
    async with Browser(app) as browser:
        await browser.log_in()
        begun = (await browser.post(FACTOR)).json()
        phone = App(begun["secret"], clock)
        confirmed = await browser.post(f"{FACTOR}/confirm", json={"code": phone.code()})
        assert confirmed.status_code == 200, confirmed.text
    assert begun["uri"].startswith("otpauth://totp/Mainspring%3Aann%40example.com?secret=")
    clock.tick(seconds=60)
    return phone, confirmed.json()["recovery_codes"]


async def test_login_needs_the_password_and_a_code_that_was_not_used(app: FastAPI, clock: FixedClock) -> None:
    phone, _ = await set_up(app, clock)
    async with Browser(app) as browser:
        without = await log_in(browser)
        wrong = await log_in(browser, "000000" if phone.code() != "000000" else "000001")
        wrong_password = await log_in(browser, phone.code(), "not the password")
        entered = await log_in(browser, phone.code())
        again = await log_in(browser, phone.code())
        earlier = await log_in(browser, phone.code(-1))
        later = await log_in(browser, phone.code(1))

    assert (without.status_code, without.json()["type"]) == (401, "/problems/code-required")
    assert [each.status_code for each in (wrong, wrong_password)] == [401, 401]
    assert wrong_password.json()["type"] == "/problems/not-authenticated"
    assert [each.status_code for each in (entered, again, earlier, later)] == [200, 401, 401, 200]


async def test_guessing_codes_is_as_slow_as_guessing_passwords(app: FastAPI, clock: FixedClock) -> None:
    phone, _ = await set_up(app, clock)
    wrong = [f"{number:06d}" for number in range(30) if f"{number:06d}" not in {phone.code(n) for n in (-1, 0, 1)}]
    async with Browser(app) as browser:
        statuses = [(await log_in(browser, code)).status_code for code in wrong]

    assert statuses.count(401) <= 6
    assert set(statuses[6:]) == {429}


async def test_code_is_good_for_one_step_before_and_after_its_own(app: FastAPI, clock: FixedClock) -> None:
    phone, _ = await set_up(app, clock)
    clock.tick(minutes=10)
    async with Browser(app) as browser:
        statuses = [(await log_in(browser, phone.code(steps))).status_code for steps in (-2, 2, -1, 1)]

    assert statuses == [401, 401, 200, 200]


async def test_code_that_confirmed_the_app_does_not_log_in(app: FastAPI, clock: FixedClock) -> None:
    async with Browser(app) as browser:
        await browser.log_in()
        phone = App((await browser.post(FACTOR)).json()["secret"], clock)
        used = phone.code()
        await browser.post(f"{FACTOR}/confirm", json={"code": used})
        again = await log_in(browser, used)
        clock.tick(seconds=30)
        entered = await log_in(browser, phone.code())

    assert (again.status_code, entered.status_code) == (401, 200)


@pytest.mark.parametrize("act", ["confirm", "disable"])
async def test_guessing_codes_with_an_open_session_is_throttled(app: FastAPI, clock: FixedClock, act: str) -> None:
    async with Browser(app) as browser:
        if act == "disable":
            phone, _ = await set_up(app, clock)
            await log_in(browser, phone.code())
        else:
            await browser.log_in()
            phone = App((await browser.post(FACTOR)).json()["secret"], clock)
        wrong = [f"{number:06d}" for number in range(30) if f"{number:06d}" not in {phone.code(n) for n in (-1, 0, 1)}]
        statuses = [(await browser.post(f"{FACTOR}/{act}", json={"code": code})).status_code for code in wrong]

    assert set(statuses[:2]) == {422}
    assert set(statuses[6:]) == {429}


async def test_recovery_code_opens_once_and_is_no_longer_counted(app: FastAPI, clock: FixedClock) -> None:
    _, codes = await set_up(app, clock)
    async with Browser(app) as browser:
        entered = await log_in(browser, codes[0].upper())
        left = (await browser.get(FACTOR)).json()
        again = await log_in(browser, codes[0])

    assert len(set(codes)) == 10
    assert (entered.status_code, again.status_code) == (200, 401)
    assert left == {"enabled": True, "recovery_codes_left": 9}


async def test_secret_is_not_in_force_before_a_code_of_it_was_given(app: FastAPI) -> None:
    async with Browser(app) as browser:
        await browser.log_in()
        await browser.post(FACTOR)
        wrong = await browser.post(f"{FACTOR}/confirm", json={"code": "abc"})
        state = (await browser.get(FACTOR)).json()

        assert (await browser.log_in()).status_code == 200
    assert (wrong.status_code, state) == (422, {"enabled": False, "recovery_codes_left": 0})


async def test_second_factor_is_disabled_with_a_code_and_not_without(app: FastAPI, clock: FixedClock) -> None:
    phone, _ = await set_up(app, clock)
    async with Browser(app) as browser:
        await log_in(browser, phone.code())
        begun_again = await browser.post(FACTOR)
        refused = await browser.post(f"{FACTOR}/disable", json={"code": "123"})
        clock.tick(seconds=30)
        disabled = await browser.post(f"{FACTOR}/disable", json={"code": phone.code()})
        entered = await log_in(browser)

    assert (begun_again.status_code, refused.status_code) == (409, 422)
    assert (disabled.status_code, entered.status_code) == (200, 200)


async def test_link_sets_the_password_and_the_code_is_asked_for_still(
    app: FastAPI, stores: Stores, clock: FixedClock
) -> None:
    await set_up(app, clock)
    made = await make_link(at_the_desk(stores), LOCKSMITH, "ann@example.com")
    async with Browser(app) as browser:
        answer = await browser.post("/api/v1/auth/setup", json={"token": made.token, "password": "quite another one"})
        assert (await browser.get("/api/v1/auth/session")).status_code == 401
        assert (await log_in(browser, password="quite another one")).json()["type"] == "/problems/code-required"

    assert answer.json()["type"] == "/problems/code-required"


async def test_operator_resets_the_second_factor_of_a_user(app: FastAPI, stores: Stores, clock: FixedClock) -> None:
    await set_up(app, clock)
    await a_user(stores, "root@example.com", role=None, is_operator=True)
    async with Browser(app) as operator, Browser(app) as ann:
        await operator.log_in("root@example.com")
        reset = await operator.delete("/api/v1/users/ann@example.com/second-factor")
        again = await operator.delete("/api/v1/users/ann@example.com/second-factor")

        assert (await log_in(ann)).status_code == 200
    assert (reset.status_code, again.status_code) == (200, 409)


async def test_secret_is_sealed_in_the_database_and_sealed_again_with_a_new_key(
    app: FastAPI, stores: Stores, store_url: str, clock: FixedClock
) -> None:
    await set_up(app, clock)
    ((sealed, recovery),) = await query(store_url, "SELECT sealed, recovery FROM second_factor")
    both = AesVault(KeyRing(b"n" * 32, (bytes(32),)))
    resealed = await seal_again(replace(at_the_desk(stores), vault=both))
    ((fresh,),) = await query(store_url, "SELECT sealed FROM second_factor")

    assert str(sealed).startswith("v1.")
    assert {len(each) for each in str(recovery).split()} == {64}
    assert (resealed.values, resealed.unreadable) == (1, 0)
    assert fresh != sealed
