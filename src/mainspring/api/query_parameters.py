"""Query parameters: a misspelt one is refused, because a silently ignored filter shows the wrong list."""

from fastapi import Request
from fastapi.dependencies.utils import get_flat_params
from fastapi.params import Query

from mainspring.api.problems import HttpProblem
from mainspring.domain.errors import did_you_mean
from mainspring.domain.name import shown


def refuse_unknown(request: Request) -> None:
    if not request.query_params:
        return
    known = _known(request)
    for name in request.query_params:
        if name not in known:
            detail = f"unknown parameter {shown(name)!r}{did_you_mean(name, known) or '; remove it'}"
            raise HttpProblem(
                "invalid-input", detail, errors=({"parameter": shown(name), "in": "query", "detail": detail},)
            )


def _known(request: Request) -> tuple[str, ...]:
    fields = get_flat_params(request.scope["route"].dependant)
    return tuple(field.alias for field in fields if isinstance(field.field_info, Query))
