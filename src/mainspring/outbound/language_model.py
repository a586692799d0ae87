"""Language models by way of pydantic-ai: OpenAI and whatever speaks like it, Anthropic, Google. One session at a time.

Whatever a model or its server does wrong (errors, garbage, silence, endless talk) becomes a value. The libraries below
cost half a second, forty megabytes, and tens of milliseconds at every request: they are imported in the process behind
the parlour alone.
"""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from mainspring.domain.errors import Misconfigured
from mainspring.domain.text import clean_text
from mainspring.domain.toolbox import ToolSpec
from mainspring.ports.planner import Budget, Conversation

if TYPE_CHECKING:
    from pydantic_ai.models import Model

FAULT_CHARS_MAX = 500
KEY_CHARS_MIN = 6  # a shorter one is a placeholder for a server that wants none, and a piece of ordinary words
OUTPUT_TOKENS_MAX = 4_000  # of one answer
PROVIDERS = {"openai": ("openai", "ai"), "anthropic": ("anthropic", "anthropic"), "google": ("google.genai", "google")}
"""What each needs: a library, and the extra of ours that brings it."""
ToolCaller = Callable[[str, dict[str, object]], Coroutine[Any, Any, str]]


class PydanticAiModel:
    def __init__(self, name: str, model: "Model[Any]", url: str = "", key: str = "") -> None:
        self.name = name
        self._model = model
        self._url = url
        self._key = key

    async def converse(
        self,
        instructions: str,
        prompt: str,
        tools: Sequence[ToolSpec],
        final: ToolSpec,
        call: ToolCaller,
        budget: Budget,
    ) -> Conversation:
        from pydantic_ai import Agent, StructuredDict, Tool, ToolOutput, UsageLimits
        from pydantic_ai.exceptions import IncompleteToolCall, ModelConnectionError, UsageLimitExceeded
        from pydantic_ai.usage import RunUsage

        def tool(spec: ToolSpec) -> Tool[None]:
            async def execute(**arguments: object) -> str:
                return await call(spec.name, arguments)

            return Tool.from_schema(execute, spec.name, spec.description, spec.schema, sequential=True)

        answer = ToolOutput(StructuredDict(final.schema), name=final.name, description=final.description)
        agent = Agent(
            self._model,
            instructions=instructions,
            tools=[tool(spec) for spec in tools],
            output_type=[answer, str],
            retries=1,
            model_settings={"max_tokens": OUTPUT_TOKENS_MAX, "timeout": budget.seconds},
        )
        limits = UsageLimits(
            request_limit=budget.tool_calls + 2,
            tool_calls_limit=budget.tool_calls,
            total_tokens_limit=budget.tokens,
        )
        usage = RunUsage()
        fault, spent, truncated, output = "", False, False, None
        try:
            async with self._model, asyncio.timeout(budget.seconds):  # its connections end with the session
                result = await agent.run(prompt, usage_limits=limits, usage=usage)
            output = result.output
            truncated = result.response.finish_reason == "length"
        except UsageLimitExceeded as limit:
            fault, spent = self._words(limit), True
        except TimeoutError:
            fault, spent = f"no end within {budget.seconds:g} s", True
        except IncompleteToolCall as cut:
            fault, truncated = self._words(cut), True
        except ModelConnectionError as away:
            fault = f"no connection to {self._server}: {self._words(away)}; see that it runs, and MAINSPRING_MODEL_URL"
        except Exception as wrong:  # whatever a strange reply makes the library below raise is that reply's fault
            fault = self._words(wrong)
        return Conversation(
            usage.input_tokens,
            usage.output_tokens,
            dict(output) if isinstance(output, dict) else None,
            output if isinstance(output, str) else "",
            truncated,
            spent,
            fault,
        )

    @property
    def _server(self) -> str:
        """Its host alone: a URL may hold a password."""
        return f"the model's server {urlsplit(self._url).hostname}" if self._url else "the model's provider"

    def _words(self, fault: BaseException) -> str:
        """The fault in one line, without the key, should a server have sent it back."""
        text = f"{type(fault).__name__}: {fault}"
        return clean_text(
            text.replace(self._key, "[key]") if len(self._key) >= KEY_CHARS_MIN else text, FAULT_CHARS_MAX
        )


def open_model(name: str, url: str, key: str) -> PydanticAiModel:
    """`openai:NAME`, `anthropic:NAME` or `google:NAME`; with a URL, any server that speaks like that provider."""
    check_model(name, url, key)
    provider, _, model_name = name.partition(":")
    return PydanticAiModel(name, _model(provider, model_name, url or None, key or "none"), url, key)


def check_model(name: str, url: str, key: str) -> None:
    """Raises Misconfigured for what `open_model` could not open; imports none of the libraries."""
    provider, _, model_name = name.partition(":")
    if provider not in PROVIDERS or not model_name:
        raise Misconfigured(
            f"MAINSPRING_MODEL={name!r} names no model; write PROVIDER:MODEL with one of {', '.join(PROVIDERS)}, "
            "for a local server openai:MODEL with MAINSPRING_MODEL_URL",
            setting="MAINSPRING_MODEL",
        )
    if not key and not url:
        raise Misconfigured(
            f"MAINSPRING_MODEL={name!r} needs a key; set MAINSPRING_MODEL_KEY, or MAINSPRING_MODEL_URL for a server "
            "of your own that wants none",
            setting="MAINSPRING_MODEL_KEY",
        )
    if url and not _is_http(url):
        raise Misconfigured(
            "MAINSPRING_MODEL_URL is no URL of a server; write http://HOST:PORT/v1, or https://, or unset it for the "
            "provider's own",
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
    except ModuleNotFoundError:  # nor is what it is a part of
        return False


def _is_http(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is none
        return False


def _model(provider: str, name: str, url: str | None, key: str) -> "Model[Any]":
    if provider == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(name, provider=AnthropicProvider(api_key=key, base_url=url))
    if provider == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(name, provider=GoogleProvider(api_key=key, base_url=url))
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=url, api_key=key))
