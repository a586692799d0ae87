"""What request models share, and the parameters that many routes take."""

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict


class RequestModel(BaseModel):
    """A request body: a field that is not known is refused, a number in quotes is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


EndpointRef = Annotated[
    str,
    Path(
        alias="endpoint",
        description="Id or name of an endpoint. A name with a slash in it cannot be written in a path; use the id.",
        max_length=1_000,
        examples=["billing"],
    ),
]
JobRef = Annotated[
    str,
    Path(
        alias="job",
        description="Id or name of a job; the id where the name has a slash.",
        max_length=1_000,
        examples=["default"],
    ),
]
RunRef = Annotated[str, Path(alias="run", description="Id of a run.", max_length=200, examples=["run_0197..."])]
DryRun = Annotated[bool, Query(description="Answer with what would change, and change nothing.")]
WithTotal = Annotated[bool, Query(description="Also count what matches, on all pages, up to 10,000.")]
NewestOrOldest = Annotated[
    Literal["-started_at", "started_at"], Query(description="Newest first, or without the minus oldest first.")
]
Limit = Annotated[int, Query(ge=1, le=200, description="At most this many on a page.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next_cursor` of the page before; none is the first page.")
]
