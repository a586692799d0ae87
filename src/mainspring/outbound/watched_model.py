"""A model whose replies are recorded: each tool call, its size, and the tokens that its server reports.

Calls that the library never passes on (unknown tools, arguments that are not a JSON object) are kept in `others`, so
that a session records them. If a server reports no usage, or an impossible one, the tokens are estimated from the text
so that budgets and quotas still hold.
"""

import json
from typing import Any

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from mainspring.domain.model.session import ToolCall, estimated_tokens, fair_tokens
from mainspring.domain.text import clean_text

REPLY_CHARS_MAX = 200_000  # OUTPUT_TOKENS_MAX is far below
OTHERS_MAX = 50
KEPT_CHARS_MAX = 2_000


class WatchedModel(WrapperModel):
    def __init__(self, wrapped: Model, tools: frozenset[str]) -> None:
        super().__init__(wrapped)
        self._tools = tools
        self.others: list[ToolCall] = []
        self.text = ""  # the newest text besides calls
        self.is_heard = False
        self.is_truncated = False

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,
        model_request_parameters: ModelRequestParameters,
    ) -> ModelResponse:
        response = await self.wrapped.request(messages, model_settings, model_request_parameters)
        self.is_heard = True
        self.is_truncated = response.finish_reason == "length"
        said = _size(response)
        if said > REPLY_CHARS_MAX:
            raise UnexpectedModelBehavior(f"a reply of {said} characters exceeds the limit of {REPLY_CHARS_MAX}")
        for part in response.parts:
            if isinstance(part, ToolCallPart):
                self._note(part)
            elif isinstance(part, TextPart) and part.content.strip():
                self.text = part.content
        usage = response.usage
        asked = estimated_tokens(len(ModelMessagesTypeAdapter.dump_json(messages)))
        usage.input_tokens = fair_tokens(usage.input_tokens, asked)
        usage.output_tokens = fair_tokens(usage.output_tokens, estimated_tokens(said))
        return response

    def refuse(self, tool: str, arguments: object, why: str) -> None:
        if len(self.others) < OTHERS_MAX:
            given = arguments if isinstance(arguments, dict) else {"not an object": str(arguments)[:KEPT_CHARS_MAX]}
            self.others.append(ToolCall(tool, given, f"refused: {why}"))

    def _note(self, part: ToolCallPart) -> None:
        name = clean_text(part.tool_name, 100)
        arguments = _read(part.args)
        if part.tool_name not in self._tools:
            self.refuse(name, arguments, f"unknown tool {name!r}")
        elif not isinstance(arguments, dict):
            self.refuse(name, arguments, "its arguments are not a JSON object")


def _read(given: Any) -> object:
    """Arguments as JSON; plain text if they are not JSON."""
    if not isinstance(given, str):
        return given or {}
    try:
        return json.loads(given or "{}")
    except (ValueError, RecursionError):
        return given


def _size(response: ModelResponse) -> int:
    size = 0
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            size += len(part.tool_name) + len(part.args if isinstance(part.args, str) else json.dumps(part.args or {}))
        else:
            size += len(str(getattr(part, "content", "") or ""))
    return size
