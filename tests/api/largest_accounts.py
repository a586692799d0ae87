"""The largest requests that the operations of accounts accept: users, members, keys, logging in and second factors."""

import time
from base64 import b32decode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from httpx2 import AsyncClient

from tests.api.acting import Json
from tests.api.authenticator import Authenticator
from tests.api.largest import Asked, LargestWork
from tests.api.people import a_key

PASSWORD = "correct horse battery staple " * 8  # 256 characters are allowed
EMAIL = f"{'e' * 50}-{{}}@{'example.' * 20}com"


class Person:
    """A user with a session, at the address that passkeys work at."""

    def __init__(self, client: AsyncClient, email: str, user_id: str) -> None:
        self.client, self.email, self.user_id = client, email, user_id

    async def log_in(self, **more: object) -> None:
        answer = await self.client.post("/api/v1/auth/login", json={"email": self.email, "password": PASSWORD, **more})
        assert answer.status_code == 200, answer.text


class Largest(LargestWork):
    """Every operation that needs more than an id."""

    def email(self) -> str:
        self.number += 1
        return EMAIL.format(self.number)

    async def a_link(self) -> tuple[str, str, str]:
        """A new user's address, id, and the token of the link that was made for it."""
        email = self.email()
        made = await self.post("/users", {"email": email, "tenant": "default", "role": "owner"})
        return email, made["user"]["id"], made["link"].partition("#token=")[2]

    def a_browser(self) -> AsyncClient:
        self.clients.append(AsyncClient(base_url=self.site, headers={"Sec-Fetch-Site": "same-origin"}, timeout=120))
        return self.clients[-1]

    async def a_person(self) -> Person:
        email, user_id, token = await self.a_link()
        client = self.a_browser()
        answer = await client.post("/api/v1/auth/setup", json={"token": token, "password": PASSWORD})
        assert answer.status_code == 200, answer.text
        return Person(client, email, user_id)

    async def an_invitation(self, person: Person) -> str:
        tenant = f"inviting-{self.number}"
        await self.post("/tenants", {"id": tenant})
        key = await a_key(self.world.stores, tenant_id=tenant)
        answer = await self.api.post(
            "/api/v1/members",
            json={"email": person.email, "role": "viewer"},
            headers={"Authorization": f"Bearer {key}"},
        )
        assert answer.status_code < 300, answer.text
        return str(answer.json()["link"]).partition("#token=")[2]

    async def a_phone(self, person: Person) -> TOTP:
        begun = (await person.client.post("/api/v1/auth/second-factor")).json()
        return TOTP(b32decode(begun["secret"]), 6, SHA1(), 30)

    async def a_device(self, person: Person) -> tuple[Authenticator, Json]:
        device = Authenticator(self.site, "localhost")
        begun = await person.client.post("/api/v1/auth/passkeys/options", json={"password": PASSWORD})
        assert begun.status_code == 200, begun.text
        made = device.create(begun.json()["challenge"], begun.json()["options"], "n" * 100)
        return device, made

    async def a_passkey(self, person: Person) -> tuple[Authenticator, str]:
        device, made = await self.a_device(person)
        answer = await person.client.post("/api/v1/auth/passkeys", json=made)
        assert answer.status_code == 201, answer.text
        return device, answer.json()["passkey"]["id"]

    # People, members and keys.

    async def create_user(self) -> Asked:
        return Asked({"email": self.email(), "name": self.name(), "tenant": "default", "role": "owner"})

    async def update_user(self) -> Asked:
        return Asked({"name": self.name(), "disabled": False})

    async def reset_second_factor(self) -> Asked:
        person = await self.a_person()
        await self.a_passkey(person)
        return Asked(ids={"user": person.user_id})

    async def create_member(self) -> Asked:
        return Asked({"email": self.email(), "role": "owner", "name": self.name()})

    async def update_member(self) -> Asked:
        return Asked({"role": "viewer"}, ids={"user": (await self.a_person()).user_id})

    async def remove_member(self) -> Asked:
        return Asked(ids={"user": (await self.a_person()).user_id})

    async def create_api_key(self) -> Asked:
        return Asked({"name": self.name(), "scopes": ["read", "write", "run", "admin"], "expires_in": "366d"})

    async def revoke_api_key(self) -> Asked:
        return Asked(ids={"key": (await self.post("/keys", {"name": self.name()}))["id"]})

    async def revoke_signing_key(self) -> Asked:
        return Asked(ids={"signing_key": (await self.post("/signing-keys"))["id"]})

    # Logging in, with everything that belongs to it.

    async def log_in(self) -> Asked:
        person = await self.a_person()
        return Asked({"email": person.email, "password": PASSWORD}, client=person.client)

    async def set_up(self) -> Asked:
        _, _, token = await self.a_link()
        return Asked({"token": token, "password": PASSWORD, "name": "n" * 100}, client=self.a_browser())

    async def read_link(self) -> Asked:
        return Asked({"token": (await self.a_link())[2]})

    async def accept_invitation(self) -> Asked:
        person = await self.a_person()
        return Asked({"token": await self.an_invitation(person)}, client=person.client)

    async def as_person(self, body: object = None) -> Asked:
        return Asked(body, client=(await self.a_person()).client)

    async def choose_tenant(self) -> Asked:
        return await self.as_person({"tenant": "default"})

    async def log_out(self) -> Asked:
        return await self.as_person()

    async def read_session(self) -> Asked:
        return await self.as_person()

    async def read_second_factor(self) -> Asked:
        return await self.as_person()

    async def begin_second_factor(self) -> Asked:
        return await self.as_person()

    async def confirm_second_factor(self) -> Asked:
        person = await self.a_person()
        phone = await self.a_phone(person)
        return Asked({"code": phone.generate(int(time.time())).decode()}, client=person.client)

    async def disable_second_factor(self) -> Asked:
        person = await self.a_person()
        phone = await self.a_phone(person)
        code = phone.generate(int(time.time())).decode()
        confirmed = await person.client.post("/api/v1/auth/second-factor/confirm", json={"code": code})
        return Asked({"code": confirmed.json()["recovery_codes"][0]}, client=person.client)

    async def list_login_sessions(self) -> Asked:
        return await self.as_person()

    async def end_other_sessions(self) -> Asked:
        return await self.as_person()

    async def end_login_session(self) -> Asked:
        person = await self.a_person()
        (session,) = (await person.client.get("/api/v1/auth/sessions")).json()["items"]
        return Asked(ids={"login": session["id"]}, client=person.client)

    async def change_password(self) -> Asked:
        return await self.as_person({"current": PASSWORD, "password": PASSWORD[::-1].strip()})

    async def log_in_with_passkey(self) -> Asked:
        person = await self.a_person()
        device, _ = await self.a_passkey(person)
        begun = (await person.client.post("/api/v1/auth/login/passkey/options")).json()
        return Asked({"passkey": device.get(begun["challenge"], begun["options"])}, client=person.client)

    async def begin_passkey_login(self) -> Asked:
        return await self.as_person()

    async def list_passkeys(self) -> Asked:
        return await self.as_person()

    async def begin_passkey(self) -> Asked:
        return await self.as_person({"password": PASSWORD})

    async def create_passkey(self) -> Asked:
        person = await self.a_person()
        return Asked((await self.a_device(person))[1], client=person.client)

    async def update_passkey(self) -> Asked:
        person = await self.a_person()
        return Asked({"name": "m" * 100}, ids={"passkey": (await self.a_passkey(person))[1]}, client=person.client)

    async def remove_passkey(self) -> Asked:
        person = await self.a_person()
        return Asked({"password": PASSWORD}, ids={"passkey": (await self.a_passkey(person))[1]}, client=person.client)
