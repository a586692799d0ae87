"""ETags of the configuration, not of the state: an edit changes them, a finished run does not."""

from hashlib import sha256
from typing import Annotated

from fastapi import Header

from mainspring.api.problems import HttpProblem
from mainspring.domain.endpoint import Endpoint, Job
from mainspring.domain.errors import Outdated
from mainspring.domain.instant import rfc3339

IfMatch = Annotated[
    str | None,
    Header(max_length=1_000, description="The ETag that was read. If it is outdated, the response is 412."),
]


def endpoint_etag(endpoint: Endpoint) -> str:
    return f'"v{endpoint.version}"'


def job_etag(job: Job) -> str:
    state = "\0".join((job.name, job.description, job.status, rfc3339(job.updated_at)))
    return f'"{sha256(state.encode()).hexdigest()[:16]}"'


def version_wanted(if_match: str | None, endpoint: Endpoint) -> int | None:
    """The version that an edit requires; None: any. Raises Outdated if the current one already differs."""
    if if_match is None or if_match.strip() == "*":
        return None
    refuse_other(if_match, endpoint_etag(endpoint), "endpoint", endpoint.name)
    return endpoint.version


def refuse_other(if_match: str | None, present: str, kind: str, name: str) -> None:
    if if_match is None or if_match.strip() == "*":
        return
    wanted = [tag.strip() for tag in if_match.split(",")]
    if any(len(tag) < 2 or not tag.endswith('"') or not tag.startswith(('"', 'W/"')) for tag in wanted):
        raise HttpProblem(
            "malformed-request", 'If-Match is not a list of ETags; send an ETag back unchanged, with its quotes: "v3"'
        )
    if present not in wanted:
        raise Outdated(kind, name)
