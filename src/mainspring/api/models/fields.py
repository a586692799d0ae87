"""The base of request models, and parameters that many routes take."""

from typing import Annotated, Literal

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict


class RequestModel(BaseModel):
    """A request body. Unknown fields and numbers in quotes are refused."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


EndpointRef = Annotated[
    str,
    Path(
        alias="endpoint",
        description="Id or name of an endpoint. If the name has a slash, use the id.",
        max_length=1_000,
        examples=["billing"],
    ),
]
JobRef = Annotated[
    str,
    Path(
        alias="job",
        description="Id or name of a job. If the name has a slash, use the id.",
        max_length=1_000,
        examples=["default"],
    ),
]
RunRef = Annotated[str, Path(alias="run", description="Id of a run.", max_length=200, examples=["run_0197..."])]
DryRun = Annotated[bool, Query(description="Return what would change, without changing anything.")]
WithTotal = Annotated[bool, Query(description="Also count the matches on all pages, up to 10,000.")]
NewestOrOldest = Annotated[
    Literal["-started_at", "started_at"], Query(description="Newest first; without the minus, oldest first.")
]
Limit = Annotated[int, Query(ge=1, le=200, description="Maximum number of items on a page.")]
Cursor = Annotated[
    str | None, Query(max_length=2_000, description="`next_cursor` of the previous page. Omit it for the first page.")
]
