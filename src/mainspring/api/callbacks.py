"""Receive callbacks at `/callback/TOKEN`, and there at `/fail`, `/EXITCODE` and `/progress`.

1. Only POST counts, so that a program that follows links ends no run. No login is needed: the token authorizes it.
2. The body of an end becomes the body of the run. The body of a progress report is its text.
3. Every unknown URL gets the same response. A late or second end gets 410. No token is logged.
"""

from urllib.parse import parse_qs

import structlog
from starlette.types import ASGIApp, Receive, Scope, Send

from mainspring.api.pings import Answer, read_body, read_exit_code, send_answer
from mainspring.domain.access.callback_token import CALLBACK_PATH
from mainspring.domain.errors import StoreUnavailable, TooManyRequests
from mainspring.domain.run import Body
from mainspring.domain.schedule.callback import PROGRESS_TEXT_MAX, CallbackReport, ReportMeaning
from mainspring.domain.text import clean_text, sanitised_view
from mainspring.operations.callbacks import CallbackIntake

log = structlog.get_logger()


class CallbackDoor:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(CALLBACK_PATH):
            await self._app(scope, receive, send)
            return
        await send_answer(scope, send, await _answer(scope, receive))


async def _answer(scope: Scope, receive: Receive) -> Answer:
    if scope["method"] != "POST":
        return 405, "send POST", [(b"allow", b"POST")]
    token, _, said = scope["path"].removeprefix(CALLBACK_PATH).partition("/")
    intake: CallbackIntake = scope["app"].state.callbacks
    if not intake.knows(token):  # before the body of an unknown caller is read
        return 404, "not found", []
    report = read_report(said, scope["query_string"].decode("latin-1"), await read_body(scope, receive))
    if report is None:
        return 404, "not found", []
    try:
        receipt = await intake.take(token, report)
    except TooManyRequests as fault:
        return 429, str(fault), [(b"retry-after", str(fault.retry_after_s).encode())]
    except StoreUnavailable:
        return 503, "the database is not available; send the callback again in some seconds", [(b"retry-after", b"5")]
    except Exception:  # the outermost handler of a request, like a worker's outermost loop
        log.exception("request failed", path=CALLBACK_PATH)
        return 500, "internal error; send the callback again", []
    if receipt is None:
        return 404, "not found", []
    return (410, f"ignored: {receipt.refusal}", []) if receipt.refusal else (200, "OK", [])


def read_report(said: str, query: str, body: Body | None) -> CallbackReport | None:
    """What follows the token: nothing, `fail`, an exit code or `progress`; None for anything else."""
    match said.rstrip("/"):
        case "":
            return CallbackReport(ReportMeaning.SUCCESS, body=body)
        case "fail":
            return CallbackReport(ReportMeaning.FAIL, body=body)
        case "progress":
            given = parse_qs(query)
            text = given.get("text", [""])[0].encode("utf-8", "replace") or (b"" if body is None else body.data)
            shown = clean_text(sanitised_view(text[: 4 * PROGRESS_TEXT_MAX]), PROGRESS_TEXT_MAX)
            return CallbackReport(ReportMeaning.PROGRESS, percent=_percent(given.get("percent", [""])[0]), text=shown)
        case code if (exit_code := read_exit_code(code)) is not None:
            return CallbackReport(ReportMeaning.SUCCESS, exit_code, body=body)
    return None


def _percent(text: str) -> int | None:
    """0 to 100; an invalid number is ignored, because a job must not fail for it."""
    return min(int(text), 100) if text.isascii() and text.isdigit() and len(text) <= 3 else None
