"""How a model's sessions lie in rows: the column list both databases share, and the way there and back."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import msgspec

from mainspring.domain.model.session import ModelSession, SessionDetail

HOUR = timedelta(hours=1)
ANALYSIS_COLUMNS = ModelSession.__struct_fields__
_DETAIL = msgspec.json.Decoder(SessionDetail)


def session_values(session: ModelSession) -> tuple[object, ...]:
    values = [getattr(session, name) for name in ANALYSIS_COLUMNS]
    return (*values[:-1], msgspec.json.encode(session.detail).decode())


def session_from(row: Sequence[Any]) -> ModelSession:
    return ModelSession(*row[:-1], _DETAIL.decode(row[-1]))  # type: ignore[call-arg]  # columns
