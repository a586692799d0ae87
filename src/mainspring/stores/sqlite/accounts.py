"""Users, credentials and the audit trail on SQLite."""

from collections.abc import Sequence

import apsw

from mainspring.domain.access import Role
from mainspring.domain.account import (
    SEEN_COARSELY,
    SESSION_IDLE,
    ApiKey,
    Bucket,
    Link,
    Member,
    MemberInvitation,
    SecondFactor,
    Session,
    User,
    email_taken,
    matches,
    no_owner_left,
)
from mainspring.domain.audit import AuditEntry, AuditFault, AuditHead, check_end, follow
from mainspring.domain.endpoint import Tenant
from mainspring.domain.event import Event
from mainspring.domain.instant import from_us, to_us
from mainspring.ports.accounts import Visit
from mainspring.stores.people import (
    AUDIT_PAGE,
    api_key_from,
    api_key_values,
    audit_entry_from,
    has_owner,
    head_from,
    invitation_from,
    member_from,
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
from mainspring.stores.sqlite.database import Connection, Database, instant
from mainspring.stores.sqlite.endpoints import add_events
from mainspring.stores.sqlite.schedule import tenant


class SqliteAccounts:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_user(
        self, user: User, password_hash: str, place: tuple[str, Role] | None, events: Sequence[Event], first: bool
    ) -> bool:
        def work(db: Connection) -> bool:
            if first and (db.rows("any_user") or not db.run("be_first", user.id)):
                return False
            try:
                db.run("add_user", *user_values(user), password_hash)
            except apsw.ConstraintError as fault:
                raise email_taken(user.email) from fault
            if place is not None:
                db.run("put_member", place[0], user.id, place[1], user.created_at)
            add_events(db, events)
            return True

        return await self._db.write(work)

    async def user(self, who: str) -> tuple[User, str] | None:
        rows = await self._db.read(lambda db: db.rows("user", who))
        return user_from(rows[0], instant) if rows else None

    async def users(self) -> list[User]:
        return [user_from(row, instant)[0] for row in await self._db.read(lambda db: db.rows("users"))]

    async def put_user(self, user: User, event: Event) -> None:
        def work(db: Connection) -> None:
            db.run(
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
                db.run("end_sessions", user.id)
            add_events(db, [event])

        await self._db.write(work)

    async def put_password(self, user_id: str, password_hash: str, proof: str, event: Event) -> None:
        def work(db: Connection) -> None:
            _put_password(db, user_id, password_hash, proof)
            add_events(db, [event])

        await self._db.write(work)

    async def members(self, tenant_id: str) -> list[Member]:
        rows = await self._db.read(lambda db: db.rows("members", tenant_id))
        return [member_from(row, instant) for row in rows]

    async def put_member(self, tenant_id: str, user_id: str, role: Role | None, event: Event) -> None:
        def work(db: Connection) -> None:
            had_owner = _has_owner(db, tenant_id)
            if role is None:
                db.run("remove_member", tenant_id, user_id)
            else:
                db.run("put_member", tenant_id, user_id, role, event.at)
            if had_owner and not _has_owner(db, tenant_id):
                raise no_owner_left(tenant_id)
            add_events(db, [event])

        await self._db.write(work)

    async def tenants(self) -> list[Tenant]:
        def work(db: Connection) -> list[Tenant]:
            now = self._db.clock.now()
            return [tenant(db, str(tenant_id), now) for (tenant_id,) in db.rows("all_tenants")]

        return await self._db.read(work)

    async def add_link(self, token_hash: str, link: Link) -> None:
        def work(db: Connection) -> None:
            db.run("forget_links", self._db.clock.now())
            db.run("add_link", token_hash, link.user_id, link.expires_at)

        await self._db.write(work)

    async def link(self, token_hash: str) -> Link | None:
        rows = await self._db.read(lambda db: db.rows("link", token_hash))
        return self._live(rows)

    async def take_link(self, token_hash: str) -> Link | None:
        rows = await self._db.write(lambda db: db.rows("take_link", token_hash))
        return self._live(rows)

    async def put_invitation(self, invitation: MemberInvitation, token_hash: str, event: Event) -> None:
        def work(db: Connection) -> None:
            db.run("put_invitation", *struct_values(invitation), token_hash)
            add_events(db, [event])

        await self._db.write(work)

    async def invitations(self, tenant_id: str) -> list[MemberInvitation]:
        rows = await self._db.read(lambda db: db.rows("invitations", tenant_id))
        return [invitation_from(row, instant) for row in rows]

    async def invitation(self, token_hash: str) -> MemberInvitation | None:
        rows = await self._db.read(lambda db: db.rows("invitation", token_hash))
        found = invitation_from(rows[0], instant) if rows else None
        return found if found is not None and self._db.clock.now() < found.expires_at else None

    async def is_invited(self, email: str) -> bool:
        return bool(await self._db.read(lambda db: db.rows("is_invited", email, self._db.clock.now())))

    async def set_invited_role(self, tenant_id: str, email: str, role: Role | None, event: Event) -> None:
        def work(db: Connection) -> None:
            if role is None:
                db.run("remove_invitation", tenant_id, email)
            else:
                db.run("set_invited_role", role, tenant_id, email)
            add_events(db, [event])

        await self._db.write(work)

    async def accept(
        self, token_hash: str, user: User, password_hash: str | None, is_new: bool, events: Sequence[Event]
    ) -> bool:
        def work(db: Connection) -> bool:
            rows = db.rows("take_invitation", token_hash)
            if not rows:
                return False
            offer = invitation_from(rows[0], instant)
            if is_new:
                try:
                    db.run("add_user", *user_values(user), password_hash or "")
                except apsw.ConstraintError as fault:
                    raise email_taken(user.email) from fault
            elif password_hash is not None:
                _put_password(db, user.id, password_hash, user.proof)
            db.run("put_member", offer.tenant_id, user.id, offer.role, events[0].at)
            add_events(db, events)
            return True

        return await self._db.write(work)

    def _live(self, rows: Sequence[Sequence[object]]) -> Link | None:
        link = Link(str(rows[0][0]), from_us(rows[0][1])) if rows else None  # type: ignore[arg-type]  # INTEGER column
        return link if link is not None and self._db.clock.now() < link.expires_at else None


class SqliteCredentials:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def add_api_key(self, key: ApiKey, secret_hash: str, event: Event) -> None:
        def work(db: Connection) -> None:
            db.run("add_api_key", *api_key_values(key), secret_hash)
            add_events(db, [event])

        await self._db.write(work)

    async def api_keys(self, tenant_id: str) -> list[ApiKey]:
        rows = await self._db.read(lambda db: db.rows("api_keys", tenant_id))
        return [api_key_from(row, instant) for row in rows]

    async def revoke_api_key(self, tenant_id: str, key_id: str, event: Event) -> bool:
        def work(db: Connection) -> bool:
            if not db.run("revoke_api_key", event.at, tenant_id, key_id):
                return False
            add_events(db, [event])
            return True

        return await self._db.write(work)

    async def use_api_key(self, key_id: str, secret: str) -> ApiKey | None:
        rows = self._db.look(lambda db: db.rows("api_key", key_id))
        now = self._db.clock.now()
        key = api_key_from(rows[0], instant) if rows and matches(secret, str(rows[0][-1])) else None
        if key is None or not key.is_live(now):
            return None
        if key.last_used_at is None or key.last_used_at <= now - SEEN_COARSELY:
            await self._db.write(lambda db: db.run("touch_api_key", now, key_id, now - SEEN_COARSELY))
        return key

    async def add_session(self, session: Session, token_hash: str, event: Event) -> None:
        def work(db: Connection) -> None:
            now = self._db.clock.now()
            db.run("forget_sessions", now, now - SESSION_IDLE)
            db.run("add_session", *struct_values(session), token_hash)
            add_events(db, [event])

        await self._db.write(work)

    async def visit(self, token_hash: str) -> Visit | None:
        def work(db: Connection) -> Visit | None:
            rows = db.rows("visit", token_hash)
            return visit_from(rows[0], db.rows("memberships", rows[0][1]), instant) if rows else None

        now = self._db.clock.now()
        visit = self._db.look(work)
        if visit is None or not visit.session.is_live(now):
            return None
        if visit.session.seen_at <= now - SEEN_COARSELY:
            await self._db.write(lambda db: db.run("touch_session", now, visit.session.id, now - SEEN_COARSELY))
        return visit

    async def second_factor(self, user_id: str) -> SecondFactor | None:
        rows = await self._db.read(lambda db: db.rows("second_factor", user_id))
        return second_factor_from(rows[0], instant) if rows else None

    async def put_second_factor(self, factor: SecondFactor, event: Event | None) -> None:
        def work(db: Connection) -> None:
            db.run("put_second_factor", *second_factor_values(factor))
            add_events(db, [event] if event else [])

        await self._db.write(work)

    async def remove_second_factor(self, user_id: str, event: Event) -> bool:
        def work(db: Connection) -> bool:
            if not db.run("remove_second_factor", user_id):
                return False
            add_events(db, [event])
            return True

        return await self._db.write(work)

    async def use_step(self, user_id: str, step: int) -> bool:
        return bool(await self._db.write(lambda db: db.run("use_step", step, user_id)))

    async def use_recovery(self, user_id: str, present: Sequence[str], spent: str) -> bool:
        left, read = without(present, spent)
        return bool(await self._db.write(lambda db: db.run("use_recovery", left, user_id, read)))

    async def sessions_of(self, user_id: str) -> list[Session]:
        rows = await self._db.read(lambda db: db.rows("sessions_of", user_id))
        now = self._db.clock.now()
        return [session for row in rows if (session := session_from(row, instant)).is_live(now)]

    async def end_session(self, session_id: str, event: Event) -> None:
        def work(db: Connection) -> None:
            if db.run("end_session", session_id):
                add_events(db, [event])

        await self._db.write(work)

    async def take_turn(self, buckets: Sequence[Bucket]) -> float:
        def work(db: Connection) -> float:
            now = self._db.clock.now()
            db.run("forget_attempts", to_us(now))
            taken: list[Bucket] = []
            for bucket in buckets:
                if not db.rows("take_turn", *turn_values(bucket, now)):
                    for each in taken:
                        db.run("give_turn_back", *turn_back_values(each))
                    return wait_s(bucket, now, int(str(db.value("turn_after", bucket.name))))
                taken.append(bucket)
            return 0

        return await self._db.write(work)

    async def give_turn_back(self, buckets: Sequence[Bucket]) -> None:
        def work(db: Connection) -> None:
            for bucket in buckets:
                db.run("give_turn_back", *turn_back_values(bucket))

        await self._db.write(work)


class SqliteAudit:
    def __init__(self, database: Database) -> None:
        self._db = database

    async def audit_entries(self, tenant_id: str, before_seq: int | None, limit: int) -> list[AuditEntry]:
        before = 1 << 62 if before_seq is None else before_seq
        rows = await self._db.read(lambda db: db.rows("audit_entries", tenant_id, before, limit))
        return [audit_entry_from(row, instant) for row in rows]

    async def verify_audit(self, tenant_id: str) -> AuditHead | AuditFault:
        def work(db: Connection) -> AuditHead | AuditFault:
            reached, head = AuditHead(), head_from(db.rows("audit_head", tenant_id))
            while rows := db.rows("audit_entries_after", tenant_id, reached.seq, AUDIT_PAGE):
                found = follow(reached, (audit_entry_from(row, instant) for row in rows), self._db.audit_keys)
                if isinstance(found, AuditFault):
                    return found
                reached = found
            return check_end(reached, head) or reached

        return await self._db.read(work)


def _has_owner(db: Connection, tenant_id: str) -> bool:
    return has_owner(member_from(row, instant) for row in db.rows("members", tenant_id))


def _put_password(db: Connection, user_id: str, password_hash: str, proof: str) -> None:
    db.run("put_password", password_hash, proof, user_id)
    db.run("end_sessions", user_id)
    if password_hash:
        db.run("void_links", user_id)
