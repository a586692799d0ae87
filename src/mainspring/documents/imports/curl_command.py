"""Parse the call of a curl or wget command. Options without effect here are skipped, unknown ones are refused."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from msgspec import Struct, field

from mainspring.documents.imports.takeover import NotTaken, basic_login
from mainspring.domain.retry import ATTEMPTS_MAX

_REDIRECTION = re.compile(r"(?:\d|&)?>{1,2}(?:&\d|.*)|<.*")
_BARE_REDIRECTION = re.compile(r"(?:\d|&)?>{1,2}")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=.*")
_CURL_SHORT = re.compile(r"-[A-Za-z#]{2,}")
CURL_SKIPPED = {
    "-s", "--silent", "-S", "--show-error", "-f", "--fail", "--fail-with-body", "-v", "--verbose", "-#", "-N",
    "--no-buffer", "--progress-bar", "--compressed", "-4", "-6", "--ipv4", "--ipv6", "-i", "--include", "-g",
    "--globoff", "--http1.1", "--http2", "-sS", "--tcp-nodelay", "--no-progress-meter", "--retry-connrefused",
    "--retry-all-errors",
}  # fmt: skip
CURL_SKIPPED_WITH_VALUE = {
    "-o", "--output", "-w", "--write-out", "--connect-timeout", "--retry-max-time", "--stderr", "-D",
    "--dump-header",
}  # fmt: skip
WGET_SKIPPED = {
    "-q", "--quiet", "-nv", "--no-verbose", "-nc", "--no-cache", "-4", "-6", "--inet4-only", "--inet6-only",
    "--retry-connrefused",
}  # fmt: skip
WGET_SKIPPED_WITH_VALUE = {"-O", "--output-document", "-o", "--output-file", "-a", "--waitretry", "-P"}


class WebCall(Struct):
    url: str = ""
    method: str = "GET"
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: str | None = None
    timeout_s: float = 0
    follows: bool = False
    attempts: int = 1
    retry_delay_s: float = 0  # 0: one second, doubled each time
    remarks: list[str] = field(default_factory=list)


def read_call(words: list[str], stdin: str | None) -> WebCall | None:
    """The one call of a command line; None if another program is called. Raises NotTaken."""
    call = WebCall()
    rest = _without_wrapping(_without_redirections(words), call)
    program = PurePath(rest[0]).name if rest else ""
    if program not in ("curl", "wget"):
        return None
    for operator in ("&&", "||", "|", ";", "&"):
        if operator in rest or any(word.endswith(";") for word in rest[1:]):
            raise NotTaken("it is more than one command")
    arguments = iter(rest[1:])
    (_read_curl if program == "curl" else _read_wget)(call, arguments, stdin)
    if not call.url:
        raise NotTaken("it has no URL")
    if "://" not in call.url:
        call.url = f"http://{call.url}"
    return call


def calls_the_web(words: list[str]) -> bool:
    return any(PurePath(word).name in ("curl", "wget") for word in words)


def _without_redirections(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif _BARE_REDIRECTION.fullmatch(word):
            skip = True
        elif not _REDIRECTION.fullmatch(word):
            kept.append(word)
    return kept


def _without_wrapping(words: list[str], call: WebCall) -> list[str]:
    """The command after `timeout 30`, `nice`, `flock -n file` and environment settings."""
    rest = list(words)
    while rest:
        program = PurePath(rest[0]).name
        if _ASSIGNMENT.fullmatch(rest[0]):
            rest = rest[1:]
        elif program == "timeout" and len(rest) > 2 and re.fullmatch(r"\d+(\.\d+)?s?", rest[1]):
            call.timeout_s = float(rest[1].rstrip("s"))
            rest = rest[2:]
        elif program in ("nice", "ionice", "flock", "chronic", "env"):
            start = next((at for at, word in enumerate(rest) if PurePath(word).name in ("curl", "wget")), 0)
            if not start:
                return rest
            call.remarks.append(f"{program} is left out; an endpoint never runs twice at the same time")
            rest = rest[start:]
        else:
            break
    return rest


def _value(option: str, arguments: Iterator[str]) -> str:
    value = next(arguments, None)
    if value is None:
        raise NotTaken(f"{option} has no value")
    return value


def _options(arguments: Iterator[str], with_value: str) -> Iterator[tuple[str, Iterator[str]]]:
    """Each word, with bundles of short options (-fsSL) and --option=value split, and the source of its value."""
    for word in arguments:
        if word.startswith("--") and "=" in word:
            option, _, value = word.partition("=")
            yield option, iter([value])
        elif _CURL_SHORT.match(word) and word not in WGET_SKIPPED:
            for place, letter in enumerate(word[1:], 1):
                if letter in with_value:
                    glued = word[place + 1 :]
                    yield f"-{letter}", iter([glued]) if glued else arguments
                    break
                yield f"-{letter}", arguments
        else:
            yield word, arguments


def _read_curl(call: WebCall, arguments: Iterator[str], stdin: str | None) -> None:  # noqa: PLR0912  # a table
    data: list[str] = []
    as_query = False
    method = ""
    for word, values in _options(arguments, "XHdumAowDbeFTK"):
        if word in CURL_SKIPPED:
            continue
        if word in CURL_SKIPPED_WITH_VALUE:
            _value(word, values)
        elif word == "--retry":
            call.attempts = _attempts(word, _value(word, values), first=1)
        elif word == "--retry-delay":
            call.retry_delay_s = _seconds(word, _value(word, values))
        elif word in ("-X", "--request"):
            method = _value(word, values)
        elif word in ("-H", "--header"):
            _add_header(call, _value(word, values))
        elif word in ("-d", "--data", "--data-raw", "--data-binary", "--data-ascii", "--json"):
            data.append(_body(_value(word, values), stdin, is_raw=word == "--data-raw"))
            if word == "--json":
                call.headers += [("Content-Type", "application/json"), ("Accept", "application/json")]
        elif word in ("-u", "--user"):
            _add_login(call, _value(word, values))
        elif word in ("-m", "--max-time"):
            call.timeout_s = _seconds(word, _value(word, values))
        elif word in ("-A", "--user-agent"):
            call.headers.append(("User-Agent", _value(word, values)))
        elif word in ("-L", "--location"):
            call.follows = True
        elif word in ("-I", "--head"):
            method = "HEAD"
        elif word in ("-G", "--get"):
            as_query = True
        elif word == "--url":
            _set_url(call, _value(word, values))
        else:
            _other(call, word)
    if data and as_query:
        call.url += ("&" if "?" in call.url else "?") + "&".join(data)
    elif data:
        call.body = "&".join(data)
        _add_form_type(call)
    call.method = method.upper() or ("POST" if call.body is not None else "GET")


def _read_wget(call: WebCall, arguments: Iterator[str], stdin: str | None) -> None:  # noqa: PLR0912  # a table
    call.follows = True  # as wget does
    for word, values in _options(arguments, "OTtoaPU"):
        if word in WGET_SKIPPED or word in ("-q", "-n", "-v"):
            continue
        if word in WGET_SKIPPED_WITH_VALUE:
            _value(word, values)
        elif word in ("-t", "--tries"):
            call.attempts = _attempts(word, _value(word, values), first=0)
        elif word == "--header":
            _add_header(call, _value(word, values))
        elif word in ("--post-data", "--body-data"):
            call.body = _value(word, values)
            call.method = "POST" if call.method == "GET" else call.method
        elif word == "--method":
            call.method = _value(word, values).upper()
        elif word in ("-T", "--timeout"):
            call.timeout_s = _seconds(word, _value(word, values))
        elif word in ("-U", "--user-agent"):
            call.headers.append(("User-Agent", _value(word, values)))
        elif word == "--spider":
            call.method = "HEAD"
        elif word in ("--post-file", "--body-file"):
            _body(f"@{_value(word, values)}", None, is_raw=False)
        else:
            _other(call, word)
    if call.body is not None:
        _add_form_type(call)


def _other(call: WebCall, word: str) -> None:
    if word in ("-k", "--insecure", "--no-check-certificate"):
        raise NotTaken(f"{word} trusts any certificate; Mainspring always checks them")
    if word.startswith("-"):
        option = word.partition("=")[0][:40] if word.startswith("--") else word[:2]  # without a value glued to it
        raise NotTaken(f"its option {option} is unknown; convert the call manually")
    _set_url(call, word)


def _set_url(call: WebCall, url: str) -> None:
    if call.url:
        raise NotTaken("it calls more than one URL; create an endpoint for each")
    call.url = url


def _add_header(call: WebCall, text: str) -> None:
    name, colon, value = text.partition(":")
    if not colon:
        raise NotTaken("one of its headers has no colon")
    call.headers.append((name.strip(), value.strip()))


def _add_form_type(call: WebCall) -> None:
    """The content type that curl and wget send with a body by default."""
    if not any(name.lower() == "content-type" for name, _ in call.headers):
        call.headers.append(("Content-Type", "application/x-www-form-urlencoded"))


def _attempts(option: str, count: str, *, first: int) -> int:
    """How many attempts a run has, `first` of them not counted by the option. wget's 0 is without end."""
    if not count.isdigit():
        raise NotTaken(f"{option} {count[:20]!r} is not a number")
    given = int(count[:6]) + first
    return min(given or ATTEMPTS_MAX, ATTEMPTS_MAX)


def _add_login(call: WebCall, login: str) -> None:
    if ":" not in login:
        raise NotTaken("its -u has no password, and there is no terminal to prompt for one")
    call.headers.append(("Authorization", basic_login(login)))


def _body(value: str, stdin: str | None, *, is_raw: bool) -> str:
    if is_raw or not value.startswith("@"):
        return value
    if value == "@-" and stdin is not None:
        return stdin
    raise NotTaken(f"its body comes from the file {value[1:][:60]!r}; write it into the document")


def _seconds(option: str, text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        raise NotTaken(f"{option} {text[:20]!r} is not a number of seconds") from None
    return min(max(seconds, 0.001), 600)
