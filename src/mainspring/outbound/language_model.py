"""Talk to language models through pydantic-ai: OpenAI and compatible servers, Anthropic, Google. One session at a time.

Any failure of a model or its server (errors, invalid data, silence, endless replies) becomes a value. The libraries
cost half a second, forty megabytes, and tens of milliseconds at every request, so only the child of `model_process`
imports them.
"""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mainspring.domain.errors import Misconfigured
from mainspring.domain.model.tools import ToolSpec, misfits
from mainspring.domain.text import clean_text
from mainspring.outbound.response import http_date
from mainspring.ports.planner import Budget, Conversation

if TYPE_CHECKING:
    from pydantic_ai import Tool
    from pydantic_ai.models import Model
    from pydantic_ai.tools import ToolDefinition
    from pydantic_ai.usage import RunUsage

    from mainspring.outbound.model_client import ModelClient
    from mainspring.outbound.watched_model import WatchedModel

FAULT_CHARS_MAX = 500
KEY_CHARS_MIN = 6  # a shorter one is a placeholder for a server that needs none, and occurs in ordinary text
OUTPUT_TOKENS_MAX = 4_000  # of one answer
PROVIDERS = {"openai": ("openai", "ai"), "anthropic": ("anthropic", "anthropic"), "google": ("google.genai", "google")}
"""What each needs: a library, and the extra of ours that brings it."""
ToolCaller = Callable[[str, dict[str, object]], Coroutine[Any, Any, str]]


class PydanticAiModel:
    """`make` creates the model of a session; `now` is for servers that say when to retry but not what time it is."""

    def __init__(
        self,
        name: str,
        make: "Callable[[ModelClient], Model[Any]]",
        url: str = "",
        key: str = "",
        now: Callable[[], datetime] | None = None,
    ) -> None:
        self.name = name
        self._make = make
        self._url = url
        self._key = key
        self._now = now

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: ToolCaller,
        budget: Budget,
    ) -> Conversation:
        from pydantic_ai.exceptions import (
            IncompleteToolCall,
            ModelConnectionError,
            ModelHTTPError,
            UnexpectedModelBehavior,
            UsageLimitExceeded,
        )
        from pydantic_ai.usage import RunUsage

        from mainspring.outbound.model_client import ModelClient
        from mainspring.outbound.watched_model import WatchedModel

        client = ModelClient(budget.seconds)
        watched = WatchedModel(self._make(client), frozenset({final.name, *(spec.name for spec in tools)}))
        talk = _Talk(watched, tools, final, call, budget)
        usage = RunUsage()
        fault, spent, unfinished, refusal = "", False, False, None
        try:
            async with client, asyncio.timeout(budget.seconds):  # its connections end with the session
                await talk.hold(instructions, prompt, usage)
        except UsageLimitExceeded as limit:
            fault, spent = self._words(limit), True
        except TimeoutError:
            fault, spent = f"no result within {budget.seconds:g} s", True
        except IncompleteToolCall as cut:
            fault, watched.is_truncated, unfinished = self._words(cut), True, True
        except ModelConnectionError as away:
            fault = (
                f"no connection to {self._server}: {self._words(away)}; check that it runs, and MAINSPRING_MODEL_URL"
            )
        except ModelHTTPError as refused:
            fault, refusal = self._words(refused), refused
        except UnexpectedModelBehavior as odd:
            fault, spent = self._words(odd), talk.is_exhausted
            unfinished = watched.is_heard
        except Exception as wrong:  # any exception that an unusual reply causes in the library is a failed session
            fault = self._words(wrong)
        fault = client.fault or fault
        return Conversation(
            usage.input_tokens,
            usage.output_tokens,
            talk.final,
            watched.text,
            watched.is_truncated,
            spent,
            fault,
            is_unfinished=unfinished,
            others=tuple(watched.others),
            status_code=None if refusal is None else refusal.status_code,
            retry_after_s=None if refusal is None else _retry_after_s(refusal.headers or {}, self._now),
        )

    @property
    def _server(self) -> str:
        """Only its host: a URL may contain a password."""
        return f"the model's server {urlsplit(self._url).hostname}" if self._url else "the model's provider"

    def _words(self, fault: BaseException) -> str:
        """The error in one line, without the key in case a server echoed it."""
        text = f"{type(fault).__name__}: {fault}"
        return clean_text(
            text.replace(self._key, "[key]") if len(self._key) >= KEY_CHARS_MIN else text, FAULT_CHARS_MAX
        )


class _Talk:
    """One conversation: tools while calls are left, then only the last tool, whose arguments must be valid."""

    def __init__(
        self, model: "WatchedModel", tools: Sequence[ToolSpec], final: ToolSpec, call: ToolCaller, budget: Budget
    ) -> None:
        self._model = model
        self._tools = tools
        self._final = final
        self._call = call
        self._budget = budget
        self._called = 0
        self._tries = 0
        self.final: dict[str, object] | None = None

    @property
    def is_exhausted(self) -> bool:
        return self._called >= self._budget.tool_calls and bool(self._tools)

    async def hold(self, instructions: str, prompt: str, usage: "RunUsage") -> None:
        from pydantic_ai import Agent, StructuredDict, ToolOutput, UsageLimits
        from pydantic_ai.capabilities import PrepareTools

        answer = ToolOutput(
            StructuredDict(self._final.schema), name=self._final.name, description=self._final.description
        )
        agent = Agent(
            self._model,
            instructions=instructions,
            tools=[self._tool(spec) for spec in self._tools],
            output_type=answer,
            retries=1,
            model_settings={"max_tokens": OUTPUT_TOKENS_MAX, "timeout": self._budget.seconds},
            capabilities=[PrepareTools(self._offered)],
        )
        agent.output_validator(self._checked)
        limits = UsageLimits(
            request_limit=self._budget.tool_calls + 3, total_tokens_limit=self._budget.tokens, tool_calls_limit=None
        )
        self.final = dict((await agent.run(prompt, usage_limits=limits, usage=usage)).output)

    def _tool(self, spec: ToolSpec) -> "Tool[None]":
        from pydantic_ai import Tool

        async def execute(**arguments: object) -> str:
            if self.is_exhausted:
                return f"refused: the limit of {self._budget.tool_calls} tool calls is reached; call {self._final.name}"
            self._called += 1
            return await self._call(spec.name, arguments)

        return Tool.from_schema(execute, spec.name, spec.description, spec.schema, sequential=True)

    async def _offered(self, _: object, tools: "list[ToolDefinition]") -> "list[ToolDefinition]":
        return [] if self.is_exhausted else tools

    async def _checked(self, output: dict[str, object]) -> dict[str, object]:
        """Refuses invalid arguments once with the reason; then keeps the valid ones, if nothing required is missing."""
        from pydantic_ai import ModelRetry

        faults = misfits(self._final, output)
        if not faults:
            return output
        words = "; ".join(f"{name} {why}" for name, why in faults.items())
        self._model.refuse(self._final.name, output, words)
        self.final = {name: value for name, value in output.items() if name not in faults}
        self._tries += 1
        if self._tries > 1 and not faults.keys() & set(self._final.required):
            return self.final
        raise ModelRetry(f"{words}; call {self._final.name} again")


def _retry_after_s(headers: Mapping[str, str], now: Callable[[], datetime] | None) -> float | None:
    """In seconds, or until a date: by the server's clock if it states the time, otherwise by ours."""
    asked = headers.get("retry-after", "")
    try:
        return max(0.0, float(asked))
    except ValueError:
        at = http_date(asked)
    since = http_date(headers.get("date", "")) or (now() if now is not None else None)
    return None if at is None or since is None else max(0.0, (at - since).total_seconds())


def open_model(name: str, url: str, key: str, now: Callable[[], datetime] | None = None) -> PydanticAiModel:
    """`openai:NAME`, `anthropic:NAME` or `google:NAME`; with a URL, any server compatible with that provider."""
    check_model(name, url, key)
    provider, _, model_name = name.partition(":")
    return PydanticAiModel(
        name, lambda client: _model(provider, model_name, url or None, key or "none", client), url, key, now
    )


def check_model(name: str, url: str, key: str) -> None:
    """Raises Misconfigured for settings that `open_model` could not open; imports none of the libraries."""
    provider, _, model_name = name.partition(":")
    if provider not in PROVIDERS or not model_name:
        raise Misconfigured(
            f"MAINSPRING_MODEL={name!r} is not a model; write PROVIDER:MODEL with one of "
            f"{', '.join(PROVIDERS)}, for a local server openai:MODEL with MAINSPRING_MODEL_URL",
            setting="MAINSPRING_MODEL",
        )
    if not key and not url:
        raise Misconfigured(
            f"MAINSPRING_MODEL={name!r} needs a key; set MAINSPRING_MODEL_KEY, or MAINSPRING_MODEL_URL for "
            "your own server without a key",
            setting="MAINSPRING_MODEL_KEY",
        )
    if url and not _is_http(url):
        raise Misconfigured(
            "MAINSPRING_MODEL_URL is not a server URL; write http://HOST:PORT/v1 or https://, or unset it "
            "for the provider's own",
            setting="MAINSPRING_MODEL_URL",
        )
    library, extra = PROVIDERS[provider]
    for needed in ("pydantic_ai", library):
        if not _is_installed(needed):
            raise Misconfigured(
                f"MAINSPRING_MODEL={name!r} needs a library that is not installed ({needed}); "
                f"install it with: pip install 'mainspring[{extra}]'",
                setting="MAINSPRING_MODEL",
            )


def _is_installed(library: str) -> bool:
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:  # nor is its parent package
        return False


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # an invalid port
        return False


def _model(provider: str, name: str, url: str | None, key: str, client: "ModelClient") -> "Model[Any]":
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(name, provider=AnthropicProvider(api_key=key, base_url=url, http_client=client))
    if provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=url, http_client=client))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=url, api_key=key, http_client=client))
