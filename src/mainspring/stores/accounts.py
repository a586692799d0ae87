"""Users, credentials and the audit trail."""

from collections.abc import Sequence

from mainspring.domain.access.account import (
    SEEN_COARSELY,
    SESSION_IDLE,
    ApiKey,
    Bucket,
    Link,
    LoginSession,
    Member,
    MemberInvitation,
    SecondFactor,
    User,
    email_taken,
    matches,
    no_owner_left,
)
from mainspring.domain.access.audit import AuditEntry, AuditFault, AuditHead, check_end, follow
from mainspring.domain.access.passkey import Challenge, Passkey
from mainspring.domain.access.scope import Role
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import Event
from mainspring.domain.instant import to_us
from mainspring.ports.accounts import LiveSession
from mainspring.stores.account_rows import (
    AUDIT_PAGE,
    api_key_from,
    api_key_values,
    audit_entry_from,
    has_owner,
    head_from,
    invitation_from,
    live_challenge,
    member_from,
    passkey_from,
    second_factor_from,
    second_factor_values,
    session_from,
    struct_values,
    turn_back_values,
    turn_values,
    user_from,
    user_values,
    visit_from,
    wait_s,
    without,
)
from mainspring.stores.endpoints import read_tenants
from mainspring.stores.events import add_events
from mainspring.stores.session import Database, Row, Session, UniqueViolation


class SqlAccountStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        async with self._db.transaction() as db:
            if first and (await db.rows("any_user") or not await db.run("be_first", user.id)):
                return False
            try:
                await db.run("add_user", *user_values(user), password_hash)
            except UniqueViolation as fault:
                raise email_taken(user.email) from fault
            if place is not None:
                await db.run("put_member", place[0], user.id, place[1], user.created_at)
            await add_events(db, events)
            return True

    async def user(self, who: str) -> tuple[User, str] | None:
        async with self._db.reading() as db:
            rows = await db.rows("user", who)
        return user_from(rows[0], db.instant) if rows else None

    async def users(self) -> list[User]:
        async with self._db.reading() as db:
            return [user_from(row, db.instant)[0] for row in await db.rows("users")]

    async def put_user(self, user: User, event: Event) -> None:
        async with self._db.transaction() as db:
            await db.run(
                "put_user",
                user.name,
                user.is_operator,
                user.disabled_at,
                user.subject,
                user.proof,
                user.home,
                user.id,
            )
            if user.disabled_at is not None:
                await db.run("end_sessions", user.id)
            await add_events(db, [event])

    async def put_password(self, user_id: str, password_hash: str, proof: str, event: Event) -> None:
        async with self._db.transaction() as db:
            await _put_password(db, user_id, password_hash, proof)
            await add_events(db, [event])

    async def members(self, tenant_id: str) -> list[Member]:
        async with self._db.reading(tenant_id) as db:
            return [member_from(row, db.instant) for row in await db.rows("members", tenant_id)]

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        async with self._db.transaction(tenant_id) as db:
            await db.lock("lock_tenant", tenant_id)  # two owners may demote each other at once: one is refused
            had_owner = await _has_owner(db, tenant_id)
            if role is None:
                await db.run("remove_member", tenant_id, user_id)
            else:
                await db.run("put_member", tenant_id, user_id, role, event.at)
            if had_owner and not await _has_owner(db, tenant_id):
                raise no_owner_left(tenant_id)
            await add_events(db, [event])

    async def tenants(self) -> list[Tenant]:
        async with self._db.reading() as db:
            ids = [str(row[0]) for row in await db.rows("all_tenants")]
            return await read_tenants(db, ids)

    async def has_several_tenants(self) -> bool:
        async with self._db.reading() as db:
            return len(await db.rows("two_tenants")) > 1

    async def add_link(self, token_hash: str, link: Link) -> None:
        async with self._db.transaction() as db:
            await db.run("forget_links", await db.now())
            await db.run("add_link", token_hash, link.user_id, link.expires_at)

    async def link(self, token_hash: str) -> Link | None:
        async with self._db.reading() as db:
            return await _live(db, await db.rows("link", token_hash))

    async def take_link(self, token_hash: str) -> Link | None:
        async with self._db.transaction() as db:
            return await _live(db, await db.rows("take_link", token_hash))

    async def put_invitation(self, invitation: MemberInvitation, token_hash: str, event: Event) -> None:
        async with self._db.transaction(invitation.tenant_id) as db:
            await db.run("put_invitation", *struct_values(invitation), token_hash)
            await add_events(db, [event])

    async def invitations(self, tenant_id: str) -> list[MemberInvitation]:
        async with self._db.reading(tenant_id) as db:
            return [invitation_from(row, db.instant) for row in await db.rows("invitations", tenant_id)]

    async def invitation(self, token_hash: str) -> MemberInvitation | None:
        async with self._db.reading() as db:
            rows, now = await db.rows("invitation", token_hash), await db.now()
        found = invitation_from(rows[0], db.instant) if rows else None
        return found if found is not None and now < found.expires_at else None

    async def is_invited(self, email: str) -> bool:
        async with self._db.reading() as db:
            return bool(await db.rows("is_invited", email, await db.now()))

    async def set_invited_role(self, tenant_id: str, email: str, role: Role | None, event: Event) -> None:
        async with self._db.transaction(tenant_id) as db:
            if role is None:
                await db.run("remove_invitation", tenant_id, email)
            else:
                await db.run("set_invited_role", role, tenant_id, email)
            await add_events(db, [event])

    async def accept(
        self, token_hash: str, user: User, password_hash: str | None, is_new: bool, events: Sequence[Event]
    ) -> bool:
        async with self._db.transaction() as db:
            rows = await db.rows("take_invitation", token_hash)
            if not rows:
                return False
            offer = invitation_from(rows[0], db.instant)
            if is_new:
                try:
                    await db.run("add_user", *user_values(user), password_hash or "")
                except UniqueViolation as fault:
                    raise email_taken(user.email) from fault
            elif password_hash is not None:
                await _put_password(db, user.id, password_hash, user.proof)
            await db.run("put_member", offer.tenant_id, user.id, offer.role, events[0].at)
            await add_events(db, events)
            return True


class SqlCredentialStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None:
        async with self._db.transaction(key.tenant_id) as db:
            await db.run("add_api_key", *api_key_values(key), secret_hash)
            await add_events(db, [event])

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        async with self._db.reading(tenant_id) as db:
            return [api_key_from(row, db.instant) for row in await db.rows("api_keys", tenant_id)]

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        async with self._db.transaction(tenant_id) as db:
            if not await db.run("revoke_api_key", event.at, tenant_id, key_id):
                return False
            await add_events(db, [event])
            return True

    async def use_api_key(self, key_id: str, secret: str) -> ApiKey | None:
        async with self._db.looking() as db:
            rows = await db.rows("api_key_and_read_clock", key_id)
            if not rows or not matches(secret, str(rows[0][-2])):
                return None
            key, now = api_key_from(rows[0], db.instant), db.at(rows[0][-1])
        if not key.is_live(now):
            return None
        if key.last_used_at is None or key.last_used_at <= now - SEEN_COARSELY:
            async with self._db.statement() as db:
                await db.run("touch_api_key", now, key_id, now - SEEN_COARSELY)
        return key

    async def add_session(self, session: LoginSession, token_hash: str, event: Event) -> None:
        async with self._db.transaction() as db:
            now = await db.now()
            await db.run("forget_sessions", now, now - SESSION_IDLE)
            await db.run("add_session", *struct_values(session), token_hash)
            await add_events(db, [event])

    async def visit(self, token_hash: str) -> LiveSession | None:
        async with self._db.looking() as db:
            rows = await db.rows("visit_and_read_clock", token_hash)
            if not rows:
                return None
            visit = visit_from(rows[0], await db.rows("memberships", rows[0][1]), db.instant)
            now = db.at(rows[0][-1])
        if not visit.session.is_live(now):
            return None
        if visit.session.seen_at <= now - SEEN_COARSELY:
            async with self._db.statement() as db:
                await db.run("touch_session", now, visit.session.id, now - SEEN_COARSELY)
        return visit

    async def second_factor(self, user_id: str) -> SecondFactor | None:
        async with self._db.reading() as db:
            rows = await db.rows("second_factor", user_id)
        return second_factor_from(rows[0], db.instant) if rows else None

    async def put_second_factor(self, factor: SecondFactor, event: Event | None) -> None:
        async with self._db.transaction() as db:
            await db.run("put_second_factor", *second_factor_values(factor))
            await add_events(db, [event] if event else [])

    async def remove_second_factor(self, user_id: str, event: Event) -> bool:
        async with self._db.transaction() as db:
            removed = await db.run("remove_second_factor", user_id)
            if not removed + await db.run("remove_passkeys", user_id):
                return False
            await add_events(db, [event])
            return True

    async def use_step(self, user_id: str, step: int) -> bool:
        async with self._db.transaction() as db:
            return bool(await db.run("use_step", step, user_id))

    async def use_recovery(self, user_id: str, present: Sequence[str], spent: str) -> bool:
        left, read = without(present, spent)
        async with self._db.transaction() as db:
            return bool(await db.run("use_recovery", left, user_id, read))

    async def passkeys(self, user_id: str) -> list[Passkey]:
        async with self._db.reading() as db:
            return [passkey_from(row, db.instant) for row in await db.rows("passkeys", user_id)]

    async def passkey(self, credential_id: str) -> Passkey | None:
        async with self._db.reading() as db:
            rows = await db.rows("passkey", credential_id)
        return passkey_from(rows[0], db.instant) if rows else None

    async def add_passkey(self, passkey: Passkey, factor: SecondFactor | None, event: Event) -> bool:
        async with self._db.transaction() as db:
            if not await db.run("add_passkey", *struct_values(passkey)):
                return False
            if factor is not None:
                await db.run("put_second_factor", *second_factor_values(factor))
            await add_events(db, [event])
            return True

    async def rename_passkey(self, user_id: str, passkey_id: str, name: str) -> bool:
        async with self._db.transaction() as db:
            return bool(await db.run("rename_passkey", name, user_id, passkey_id))

    async def remove_passkey(self, user_id: str, passkey_id: str, event: Event) -> bool:
        async with self._db.transaction() as db:
            if not await db.run("remove_passkey", user_id, passkey_id):
                return False
            await db.run("remove_idle_factor", user_id)
            await add_events(db, [event])
            return True

    async def use_passkey(self, passkey_id: str, sign_count: int) -> bool:
        async with self._db.transaction() as db:
            return bool(await db.run("use_passkey", sign_count, await db.now(), passkey_id))

    async def add_challenge(self, challenge: Challenge) -> None:
        async with self._db.transaction() as db:
            await db.run("forget_challenges", await db.now())
            await db.run("add_challenge", *struct_values(challenge))

    async def take_challenge(self, challenge_id: str) -> Challenge | None:
        async with self._db.transaction() as db:
            rows, now = await db.rows("take_challenge", challenge_id), await db.now()
        return live_challenge(rows, now, db.instant)

    async def sessions_of(self, user_id: str) -> list[LoginSession]:
        async with self._db.reading() as db:
            rows, now = await db.rows("sessions_of", user_id), await db.now()
        return [session for row in rows if (session := session_from(row, db.instant)).is_live(now)]

    async def end_session(self, session_id: str, event: Event) -> None:
        async with self._db.transaction() as db:
            if await db.run("end_session", session_id):
                await add_events(db, [event])

    async def take_turn(self, buckets: Sequence[Bucket]) -> float:
        async with self._db.transaction() as db:
            now = await db.now()
            await db.run("forget_attempts", to_us(now))
            taken: list[Bucket] = []
            for bucket in buckets:
                if not await db.rows("take_turn", *turn_values(bucket, now)):
                    for each in taken:
                        await db.run("give_turn_back", *turn_back_values(each))
                    return wait_s(bucket, now, int(str(await db.value("turn_after", bucket.name))))
                taken.append(bucket)
        return 0

    async def give_turn_back(self, buckets: Sequence[Bucket]) -> None:
        async with self._db.transaction() as db:
            for bucket in buckets:
                await db.run("give_turn_back", *turn_back_values(bucket))


class SqlAuditStore:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def audit_entries(self, tenant_id: str, before_seq: int | None, limit: int) -> list[AuditEntry]:
        before = 1 << 62 if before_seq is None else before_seq
        async with self._db.reading(tenant_id or None) as db:
            rows = await db.rows("audit_entries", tenant_id, before, limit)
        return [audit_entry_from(row, db.instant) for row in rows]

    async def verify_audit(self, tenant_id: str) -> AuditHead | AuditFault:
        async with self._db.reading(tenant_id or None) as db:
            reached, head = AuditHead(), head_from(await db.rows("audit_head", tenant_id))
            while rows := await db.rows("audit_entries_after", tenant_id, reached.seq, AUDIT_PAGE):
                found = follow(reached, (audit_entry_from(row, db.instant) for row in rows), db.audit_keys)
                if isinstance(found, AuditFault):
                    return found
                reached = found
        return check_end(reached, head) or reached


async def _has_owner(db: Session, tenant_id: str) -> bool:
    return has_owner(member_from(row, db.instant) for row in await db.rows("members", tenant_id))


async def _put_password(db: Session, user_id: str, password_hash: str, proof: str) -> None:
    await db.run("put_password", password_hash, proof, user_id)
    await db.run("end_sessions", user_id)
    if password_hash:
        await db.run("void_links", user_id)


async def _live(db: Session, rows: Sequence[Row]) -> Link | None:
    link = Link(*db.instants(rows[0], (1,))) if rows else None  # type: ignore[arg-type]  # columns
    return link if link is not None and await db.now() < link.expires_at else None
