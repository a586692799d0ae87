"""A kind of endpoint that greets a mail server: `kind: smtp` with `host` and `port`."""

from typing import ClassVar

from msgspec.structs import replace

from mainspring.kinds import (
    BODY_CAP_DEFAULT,
    TIMEOUT_MS_DEFAULT,
    Action,
    BodyCap,
    CallFault,
    CallPolicy,
    CallProgress,
    CallTools,
    Condition,
    Fact,
    Host,
    Kind,
    Outcome,
    PeerStream,
    Port,
    Request,
    Timeout,
    check_host,
    host_and_port,
    run_call,
)

LINE_MAX = 512


class SmtpAction(Action, frozen=True, omit_defaults=True, tag_field="kind", tag="smtp"):
    host: Host
    port: Port = 25
    timeout_ms: Timeout = TIMEOUT_MS_DEFAULT
    body_cap: BodyCap = BODY_CAP_DEFAULT
    condition: Condition = None


class SmtpKind(Kind[SmtpAction]):
    name = "smtp"
    about = "Greets a mail server."
    action = SmtpAction
    searched = ("host",)
    facts: ClassVar[tuple[Fact, ...]] = (
        Fact("body.code", "Code of the greeting; 220 if the server is ready."),
        Fact("body.greeting", "Text of the greeting."),
    )

    def check(self, action: SmtpAction, policy: CallPolicy) -> SmtpAction:
        return replace(action, host=check_host(action.host))

    def host_key(self, action: SmtpAction) -> str:
        return host_and_port(action.host, action.port)

    def summary(self, action: SmtpAction) -> str:
        return f"smtp {self.host_key(action)}"


class SmtpCaller:
    def __init__(self, tools: CallTools) -> None:
        self._dialer = tools.dialer

    async def call(self, request: Request) -> Outcome:
        action = request.action
        assert isinstance(action, SmtpAction)
        return await run_call(action, lambda progress: self._greet(action, request.tenant_id, progress))

    async def _greet(self, action: SmtpAction, tenant_id: str, progress: CallProgress) -> None:
        connected = await self._dialer.connect(action.host, action.port, tenant_id, progress)
        stream = await PeerStream.open(connected, None, action.host)
        try:
            progress.waits_for = "the greeting"
            line = (await stream.reader.read(LINE_MAX)).decode("utf-8", "replace").strip()
        except OSError as fault:
            raise CallFault("closed", f"the server closed the connection: {fault}") from None
        finally:
            stream.close()
        code, _, greeting = line.partition(" ")
        progress.facts = {"code": int(code) if code.isdigit() else 0, "greeting": greeting[:LINE_MAX]}
        if code != "220":
            raise CallFault("unexpected", f"the greeting is {line[:100]!r}; expected code 220")

    async def aclose(self) -> None:
        pass


class SmtpPlugin:
    kind = SmtpKind()

    def open_caller(self, tools: CallTools) -> SmtpCaller:
        return SmtpCaller(tools)
