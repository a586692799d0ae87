"""Passkeys: as a second factor and in place of the password, with an authenticator in software and its twins."""

import asyncio
from base64 import b32decode
from collections.abc import AsyncIterator, Callable

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from fastapi import FastAPI
from httpx2 import Response
from msgspec.structs import replace

from mainspring.domain.access.account import Proof, proof_by_tenant
from mainspring.domain.errors import Conflict
from mainspring.domain.event import Event, EventType
from mainspring.operations.accounts import find_user, make_link
from mainspring.operations.second_factor import reset
from mainspring.operations.secret_rotation import seal_again
from mainspring.outbound.vault import AesVault, KeyRing
from mainspring.ports.stores import Stores
from mainspring.settings import Settings
from tests.api.authenticator import PRESENT, Authenticator, Json, b64, cbor
from tests.api.people import LOCKSMITH, PASSWORD, Browser, a_user, at_the_desk, open_door
from tests.stores.databases import query
from tests.stores.world import FixedClock

HOST = "mainspring.example.com"
SITE = f"https://{HOST}"
AUTH = "/api/v1/auth"
KEYS = f"{AUTH}/passkeys"


@pytest.fixture
async def app(stores: Stores, clock: FixedClock) -> AsyncIterator[FastAPI]:
    await a_user(stores, is_operator=True)
    await a_user(stores, "bob@example.com")
    async with open_door(stores, clock, Settings(public_url=SITE, allowed_hosts=(HOST,))) as made:
        yield made


def a_device(**options: object) -> Authenticator:
    return Authenticator(SITE, HOST, **options)  # type: ignore[arg-type]  # a test names only what there is


def a_browser(app: FastAPI, address: str = "192.0.2.1") -> Browser:
    return Browser(app, address, SITE)


async def begun(browser: Browser) -> tuple[str, Json]:
    answer = await browser.post(f"{KEYS}/options", json={"password": PASSWORD})
    assert answer.status_code == 200, answer.text
    return answer.json()["challenge"], answer.json()["options"]


async def register(app: FastAPI, device: Authenticator, email: str = "ann@example.com") -> Json:
    async with a_browser(app) as browser:
        assert (await browser.log_in(email)).status_code == 200
        answer = await browser.post(KEYS, json=device.create(*await begun(browser)))
    assert answer.status_code == 201, answer.text
    return dict(answer.json())


async def log_in(browser: Browser, email: str = "ann@example.com", **more: object) -> Response:
    return await browser.post(f"{AUTH}/login", json={"email": email, "password": PASSWORD, **more})


async def offered(browser: Browser, email: str = "ann@example.com") -> tuple[str, Json]:
    """The challenge that comes with the refusal of a right password alone."""
    refused = await log_in(browser, email)
    assert (refused.status_code, refused.json()["type"]) == (401, "/problems/code-required"), refused.text
    return refused.json()["passkey"]["challenge"], refused.json()["passkey"]["options"]


async def without_password(browser: Browser, device: Authenticator) -> Response:
    begun = (await browser.post(f"{AUTH}/login/passkey/options")).json()
    return await browser.post(
        f"{AUTH}/login/passkey", json={"passkey": device.get(begun["challenge"], begun["options"])}
    )


async def test_login_asks_for_the_passkey_after_the_password(app: FastAPI) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        challenge, options = await offered(browser)
        refused = (await log_in(browser)).json()
        entered = await log_in(browser, passkey=device.get(challenge, options))
        who = await browser.get(f"{AUTH}/session")

    assert options["rpId"] == HOST
    assert options["allowCredentials"] == [{"type": "public-key", "id": b64(device.credential_id)}]
    assert refused["factors"] == ["passkey", "recovery_code"]
    assert (entered.status_code, who.json()["actor"]) == (200, "user:ann@example.com")


async def test_passkey_logs_in_without_a_password(app: FastAPI) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        begun = (await browser.post(f"{AUTH}/login/passkey/options")).json()
        entered = await without_password(browser, device)

    assert (begun["options"]["userVerification"], begun["options"]["allowCredentials"]) == ("required", [])
    assert (entered.status_code, entered.json()["actor"]) == (200, "user:ann@example.com")


async def test_device_without_a_pin_is_a_second_factor_and_not_a_login(app: FastAPI) -> None:
    device = a_device(flags=PRESENT)
    await register(app, device)
    async with a_browser(app) as browser:
        alone = await without_password(browser, device)
        both = await log_in(browser, passkey=device.get(*await offered(browser)))

    assert (alone.status_code, both.status_code) == (401, 200)


def _elsewhere(device: Authenticator) -> None:
    device.origin = "https://evil.example.com"


def _subdomain(device: Authenticator) -> None:
    device.origin = f"https://a.{HOST}"


def _unencrypted(device: Authenticator) -> None:
    device.origin = f"http://{HOST}"


def _framed(device: Authenticator) -> None:
    device.cross_origin = True


def _other_party(device: Authenticator) -> None:
    device.rp_id = "evil.example.com"


def _absent(device: Authenticator) -> None:
    device.flags = 0


def _other_key(device: Authenticator) -> None:
    device.key = generate_private_key(SECP256R1())


def _counted_back(device: Authenticator) -> None:
    device.count = 0


def _cloned(device: Authenticator) -> None:
    device.counts = False


def _unknown(device: Authenticator) -> None:
    device.credential_id = bytes(32)


TWINS = [_elsewhere, _subdomain, _unencrypted, _framed, _other_party, _absent]
LIARS = [*TWINS, _other_key, _counted_back, _cloned, _unknown]


@pytest.mark.parametrize("lie", LIARS)
async def test_hostile_twin_does_not_log_in(app: FastAPI, lie: Callable[[Authenticator], None]) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        first = await log_in(browser, passkey=device.get(*await offered(browser)))
        lie(device)
        second_factor = await log_in(browser, passkey=device.get(*await offered(browser)))
        alone = await without_password(browser, device)

    assert first.status_code == 200
    assert [each.status_code for each in (second_factor, alone)] == [401, 401]
    assert second_factor.json()["type"] == "/problems/not-authenticated"


@pytest.mark.parametrize("lie", TWINS)
async def test_hostile_twin_is_not_registered(app: FastAPI, lie: Callable[[Authenticator], None]) -> None:
    device = a_device()
    lie(device)
    async with a_browser(app) as browser:
        await browser.log_in()
        refused = await browser.post(KEYS, json=device.create(*await begun(browser)))
        kept = (await browser.get(KEYS)).json()["items"]

    assert (refused.status_code, kept) == (422, [])


async def test_challenge_is_good_once_also_after_a_wrong_answer(app: FastAPI) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        challenge, options = await offered(browser)
        answer = device.get(challenge, options)
        entered = await log_in(browser, passkey=answer)
        replayed = await log_in(browser, passkey=answer)
        spoiled, options = await offered(browser)
        wrong = await log_in(browser, passkey=device.get(spoiled, {"challenge": b64(bytes(32))}))
        late = await log_in(browser, passkey=device.get(spoiled, options))

    assert [each.status_code for each in (entered, replayed, wrong, late)] == [200, 401, 401, 401]


async def test_one_of_many_answers_to_a_challenge_at_once_comes_in(app: FastAPI) -> None:
    device = a_device(counts=False)
    await register(app, device)
    async with a_browser(app) as browser:
        challenge, options = await offered(browser)
        answer = device.get(challenge, options)
        answers = await asyncio.gather(*(log_in(browser, passkey=answer) for _ in range(4)))

    assert sorted(each.status_code for each in answers) == [200, 401, 401, 401]


async def test_challenge_ends_after_five_minutes(app: FastAPI, clock: FixedClock, store_url: str) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        challenge, options = await offered(browser)
        clock.tick(seconds=301)
        late = await log_in(browser, passkey=device.get(challenge, options))
        await offered(browser)

    assert late.status_code == 401
    assert len(await query(store_url, "SELECT id FROM challenge")) == 1


async def test_challenge_counts_only_for_what_it_was_made_for(app: FastAPI) -> None:
    device = a_device()
    await register(app, device)
    await register(app, a_device(), "bob@example.com")
    async with a_browser(app) as browser, a_browser(app) as other:
        alone = (await browser.post(f"{AUTH}/login/passkey/options")).json()
        mixed = await log_in(browser, passkey=device.get(alone["challenge"], alone["options"]))
        challenge, options = await offered(browser)
        begun_elsewhere = await browser.post(f"{AUTH}/login/passkey", json={"passkey": device.get(challenge, options)})
        bobs, options = await offered(other, "bob@example.com")
        of_another = await log_in(browser, passkey=device.get(bobs, options))

    assert [each.status_code for each in (mixed, begun_elsewhere, of_another)] == [401, 401, 401]


async def test_passkey_of_another_user_is_no_second_factor(app: FastAPI) -> None:
    mine, theirs = a_device(), a_device()
    await register(app, mine)
    await register(app, theirs, "bob@example.com")
    async with a_browser(app) as browser:
        answer = await log_in(browser, passkey=theirs.get(*await offered(browser)))

    assert answer.status_code == 401


async def test_registration_is_bound_to_the_session_that_asked(app: FastAPI) -> None:
    async with a_browser(app) as ann, a_browser(app) as bob:
        await ann.log_in()
        await bob.log_in("bob@example.com")
        challenge, options = await begun(ann)
        refused = await bob.post(KEYS, json=a_device().create(challenge, options))
        wrong_kind = await ann.post(KEYS, json=a_device().create(*await begun(ann), kind="webauthn.get"))

    assert (refused.status_code, wrong_kind.status_code) == (422, 422)


async def test_credential_is_registered_once(app: FastAPI) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as bob:
        await bob.log_in("bob@example.com")
        again = await bob.post(KEYS, json=device.create(*await begun(bob)))

    assert again.status_code == 409


async def test_passkeys_are_listed_renamed_and_removed_with_the_password(app: FastAPI, stores: Stores) -> None:
    device = a_device()
    made = await register(app, device)
    async with a_browser(app) as browser, a_browser(app) as bob:
        await bob.log_in("bob@example.com")
        await log_in(browser, passkey=device.get(*await offered(browser)))
        path = f"{KEYS}/{made['passkey']['id']}"  # type: ignore[index]  # JSON
        strangers = (
            await bob.patch(path, json={"name": "mine"}),
            await bob.post(f"{path}/remove", json={"password": PASSWORD}),
        )
        renamed = await browser.patch(path, json={"name": "  phone "})
        listed = (await browser.get(KEYS)).json()
        wrong = await browser.post(f"{path}/remove", json={"password": "wrong"})
        removed = await browser.post(f"{path}/remove", json={"password": PASSWORD})
        gone = await browser.post(f"{path}/remove", json={"password": PASSWORD})
        state = (await browser.get(f"{AUTH}/second-factor")).json()
        entered = await log_in(browser)
    audited = [entry.act for entry in await stores.audit.audit_entries("", None, 50)]

    assert [each.status_code for each in strangers] == [404, 404]
    assert (renamed.json()["name"], listed["unavailable"]) == ("phone", None)
    assert [(each["name"], each["usable"], each["used_at"] is not None) for each in listed["items"]] == [
        ("phone", True, True)
    ]
    assert [each.status_code for each in (wrong, removed, gone, entered)] == [422, 200, 404, 200]
    assert state == {"enabled": False, "recovery_codes_left": 0}
    assert {"passkey.added", "passkey.removed"} <= set(audited)


async def test_registration_needs_the_password_and_is_throttled(app: FastAPI) -> None:
    async with a_browser(app) as browser:
        await browser.log_in()
        statuses = [
            (await browser.post(f"{KEYS}/options", json={"password": f"wrong {number}"})).status_code
            for number in range(10)
        ]

    assert statuses[0] == 422
    assert statuses[-1] == 429


async def test_guessing_with_passkeys_is_throttled(app: FastAPI) -> None:
    async with a_browser(app) as browser:
        asked = [(await browser.post(f"{AUTH}/login/passkey/options")).status_code for _ in range(30)]
        tried = await browser.post(f"{AUTH}/login/passkey", json={"passkey": a_device().get("x", {"challenge": "x"})})
    async with a_browser(app, "192.0.2.77") as elsewhere:
        other = await elsewhere.post(f"{AUTH}/login/passkey/options")

    assert (asked[0], asked[-1], tried.status_code, other.status_code) == (200, 429, 429, 200)


async def test_recovery_codes_come_with_the_first_passkey_and_open_once(app: FastAPI) -> None:
    first = await register(app, a_device())
    codes = list(first["recovery_codes"])  # type: ignore[call-overload]  # JSON
    async with a_browser(app) as browser:
        entered = await log_in(browser, code=codes[0])
        second = (await browser.post(KEYS, json=a_device().create(*await begun(browser), name="phone"))).json()
        again = await log_in(browser, code=codes[0])

    assert len(codes) == 10
    assert (entered.status_code, again.status_code) == (200, 401)
    assert second["recovery_codes"] == []


async def test_app_and_passkey_stand_in_for_each_other(app: FastAPI, clock: FixedClock) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        await log_in(browser, passkey=device.get(*await offered(browser)))
        secret = (await browser.post(f"{AUTH}/second-factor")).json()["secret"]
        phone = TOTP(b32decode(secret), 6, SHA1(), 30)

        def code() -> str:
            clock.tick(seconds=30)
            return phone.generate(int(clock.now().timestamp())).decode()

        await browser.post(f"{AUTH}/second-factor/confirm", json={"code": code()})
        factors = (await log_in(browser)).json()["factors"]
        by_app = await log_in(browser, code=code())
        by_passkey = await log_in(browser, passkey=device.get(*await offered(browser)))
        disabled = await browser.post(f"{AUTH}/second-factor/disable", json={"code": code()})
        left = (await log_in(browser)).json()["factors"]

    assert factors == ["code", "passkey", "recovery_code"]
    assert (by_app.status_code, by_passkey.status_code) == (200, 200)
    assert disabled.json() == {"enabled": False, "recovery_codes_left": 10}
    assert left == ["passkey", "recovery_code"]


async def test_reset_takes_all_factors_away(app: FastAPI, stores: Stores, store_url: str) -> None:
    await register(app, a_device())
    desk = at_the_desk(stores, "")
    await reset(desk, await find_user(desk, "ann@example.com"))
    async with a_browser(app) as browser:
        entered = await log_in(browser)

    assert entered.status_code == 200
    assert await query(store_url, "SELECT id FROM passkey") == []
    with pytest.raises(Conflict):
        await reset(desk, await find_user(desk, "ann@example.com"))


async def test_new_password_by_a_link_does_not_pass_by_the_passkey(app: FastAPI, stores: Stores) -> None:
    await register(app, a_device())
    made = await make_link(at_the_desk(stores), LOCKSMITH, "ann@example.com")
    async with a_browser(app) as browser:
        answer = await browser.post(f"{AUTH}/setup", json={"token": made.token, "password": "quite another one"})

    assert answer.json()["type"] == "/problems/code-required"


async def test_disabled_user_does_not_come_in_by_passkey(app: FastAPI, stores: Stores, clock: FixedClock) -> None:
    device = a_device()
    await register(app, device)
    user, _ = await stores.accounts.user("ann@example.com") or (None, "")
    assert user is not None
    event = Event(EventType.USER_UPDATED, clock.now(), "", actor="test")
    await stores.accounts.put_user(replace(user, disabled_at=clock.now(), is_operator=False), event)
    async with a_browser(app) as browser:
        refused = await without_password(browser, device)

    assert (refused.status_code, refused.json()["detail"].partition(";")[0]) == (401, "the passkey was not accepted")
    assert await stores.credentials.sessions_of(user.id) == []


async def test_passkey_from_before_the_address_was_proved_ends_with_the_proof(
    app: FastAPI, stores: Stores, clock: FixedClock, store_url: str
) -> None:
    """One tenant's link made the account, and a passkey was added; then the person proves the address."""
    device = a_device()
    await register(app, device)
    await query(store_url, f"UPDATE passkey SET proof = '{proof_by_tenant('other')}'")
    async with a_browser(app) as browser:
        alone = await without_password(browser, device)
        entered = await log_in(browser)
        listed = (await browser.get(KEYS)).json()["items"]

    assert (alone.status_code, entered.status_code) == (401, 200)
    assert [each["usable"] for each in listed] == [False]
    user, _ = await stores.accounts.user("ann@example.com") or (None, "")
    assert user is not None
    assert user.proof == Proof.OPERATOR


async def test_user_without_a_password_has_no_passkeys(app: FastAPI, store_url: str) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        await log_in(browser, passkey=device.get(*await offered(browser)))
        await query(store_url, "UPDATE account SET password_hash = '' WHERE email = 'ann@example.com'")
        begun = await browser.post(f"{KEYS}/options", json={"password": ""})
        alone = await without_password(browser, device)

    assert (begun.status_code, alone.status_code) == (409, 401)


async def test_user_has_at_most_twenty_passkeys(app: FastAPI, store_url: str) -> None:
    device = a_device()
    await register(app, device)
    for number in range(19):
        await query(
            store_url,
            f"INSERT INTO passkey SELECT 'pk_{number}', account_id, 'c{number}', name, credential, 0, proof, "
            "created_at, used_at FROM passkey WHERE id NOT LIKE 'pk!__' ESCAPE '!' LIMIT 1",
        )
    async with a_browser(app) as browser:
        await log_in(browser, passkey=device.get(*await offered(browser)))
        refused = await browser.post(f"{KEYS}/options", json={"password": PASSWORD})

    assert (refused.status_code, "which is the maximum" in refused.text) == (409, True)


@pytest.mark.parametrize(
    "attestation",
    [b"", b"\xff" * 50, b"\x81" * 4_000, cbor({"fmt": "none"}), cbor({"fmt": "none", "attStmt": {}, "authData": b""})],
)
async def test_nonsense_in_place_of_an_attestation_is_refused(app: FastAPI, attestation: bytes) -> None:
    async with a_browser(app) as browser:
        await browser.log_in()
        wish = a_device().create(*await begun(browser)) | {"attestation": b64(attestation)}
        refused = await browser.post(KEYS, json=wish)

    assert refused.status_code == 422


@pytest.mark.parametrize("part", ["client_data", "authenticator_data", "signature", "id"])
@pytest.mark.parametrize("nonsense", ["", "AAAA", "_" * 1_000])
async def test_nonsense_in_place_of_a_signature_is_refused(app: FastAPI, part: str, nonsense: str) -> None:
    device = a_device()
    await register(app, device)
    async with a_browser(app) as browser:
        answer = device.get(*await offered(browser)) | {part: nonsense}
        refused = await log_in(browser, passkey=answer)

    assert refused.status_code == 401


@pytest.mark.parametrize("url", ["", "http://mainspring.example.com", "https://192.0.2.1", "https://intranet"])
async def test_server_without_a_fitting_address_says_what_to_set(stores: Stores, clock: FixedClock, url: str) -> None:
    await a_user(stores)
    settings, site = Settings(public_url=url, allowed_hosts=("*",)), url or "http://127.0.0.1"
    async with open_door(stores, clock, settings) as app, Browser(app, site=site) as browser:
        await browser.log_in()
        refused = await browser.post(f"{KEYS}/options", json={"password": PASSWORD})
        listed = (await browser.get(KEYS)).json()
        login = await browser.post(f"{AUTH}/login/passkey/options")

    assert [refused.status_code, login.status_code] == [409, 409]
    assert "set MAINSPRING_PUBLIC_URL to its https URL" in refused.text
    assert "set MAINSPRING_PUBLIC_URL" in listed["unavailable"]


async def test_re_keying_passes_over_recovery_codes_without_an_app(app: FastAPI, stores: Stores) -> None:
    await register(app, a_device())
    resealed = await seal_again(replace(at_the_desk(stores), vault=AesVault(KeyRing(b"n" * 32, (bytes(32),)))))

    assert resealed.unreadable == 0
