"""Choose the caller of a run by the kind of its endpoint. All calls of endpoints leave a process here."""

from collections.abc import Coroutine, Mapping
from typing import Any

from mainspring.domain.kinds.command import CommandAction
from mainspring.domain.kinds.command_policy import NO_COMMANDS, CommandPolicy
from mainspring.domain.kinds.dns import DnsAction
from mainspring.domain.kinds.heartbeat import HeartbeatAction
from mainspring.domain.kinds.ping import PingAction
from mainspring.domain.kinds.queue import QueueAction
from mainspring.domain.kinds.registry import INSTALLED, kind_of
from mainspring.domain.kinds.tcp import TcpAction
from mainspring.domain.kinds.tls import TlsAction
from mainspring.domain.run import Action, HttpAction, Outcome, Request
from mainspring.outbound.http import HttpCaller
from mainspring.outbound.kinds.call import blocked
from mainspring.outbound.kinds.command import CommandCaller, OnRefused
from mainspring.outbound.kinds.dial import Dialer
from mainspring.outbound.kinds.dns import DnsCaller
from mainspring.outbound.kinds.heartbeat import HeartbeatCaller
from mainspring.outbound.kinds.ping import PingCaller
from mainspring.outbound.kinds.queue import QueueCaller
from mainspring.outbound.kinds.tcp import TcpCaller
from mainspring.outbound.kinds.tls import TlsCaller
from mainspring.outbound.kinds.tools import CallTools
from mainspring.outbound.templates import TemplateRenderer
from mainspring.ports.outbound import Caller, Vault


class KindCaller:
    """Calls what an endpoint of any kind calls. HTTP goes straight to its caller."""

    def __init__(self, http: HttpCaller, others: Mapping[type[Action], Caller], templates: TemplateRenderer) -> None:
        self._http = http
        self._others = dict(others)
        self._templates = templates

    def call(self, request: Request) -> Coroutine[Any, Any, Outcome]:
        if request.started_at is not None and not request.action.is_expected:
            return self._http.judge(request.started_at)  # nothing is called, even if an edit changed the kind meanwhile
        return self._fill_in_and_call(request) if request.action.templated else self._call(request)

    async def _fill_in_and_call(self, request: Request) -> Outcome:
        filled = await self._templates.render(request)
        return filled if isinstance(filled, Outcome) else await self._call(filled)

    def _call(self, request: Request) -> Coroutine[Any, Any, Outcome]:
        if type(request.action) is HttpAction:
            return self._http.call(request)
        caller = self._others.get(type(request.action))
        return _not_installed(request) if caller is None else caller.call(request)

    async def aclose(self) -> None:
        await self._http.aclose()
        for caller in self._others.values():
            await caller.aclose()


def callers_of(
    dialer: Dialer, vault: Vault, commands: CommandPolicy = NO_COMMANDS, on_refused: OnRefused | None = None
) -> dict[type[Action], Caller]:
    """The callers of all kinds besides `http`."""
    callers: dict[type[Action], Caller] = {
        TcpAction: TcpCaller(dialer),
        TlsAction: TlsCaller(dialer),
        DnsAction: DnsCaller(dialer),
        PingAction: PingCaller(dialer),
        CommandAction: CommandCaller(commands, vault, on_refused=on_refused),
        QueueAction: QueueCaller(dialer, vault),
        HeartbeatAction: HeartbeatCaller(dialer.clock),
    }
    tools = CallTools(dialer, vault)
    return callers | {plugin.kind.action: plugin.open_caller(tools) for plugin in INSTALLED.plugins}


async def _not_installed(request: Request) -> Outcome:
    name = kind_of(request.action).name
    return blocked("invalid_request", f"kind {name!r} is not installed on this worker; install it or edit the endpoint")
