"""What the routes of simulations and back-tests take."""

from pydantic import ConfigDict, Field, JsonValue

from mainspring.api.models.fields import RequestModel
from mainspring.inputs.values import Duration, Text

DOCUMENT_MAX = 100_000


class SimulationRequest(RequestModel):
    model_config = ConfigDict(json_schema_extra={"examples": [{"scenario": "flash-sale", "seed": 1}]})

    scenario: str | None = Field(default=None, max_length=100, description="One that comes with Mainspring, by name.")
    document: str | None = Field(
        default=None, max_length=DOCUMENT_MAX, description="Or one of your own, in YAML; docs/simulation.md tells how."
    )
    seed: int = Field(default=1, ge=0, le=2**31, description="What chance draws from; the same seed, the same answer.")


class BacktestInput(RequestModel):
    """What to change; what is left out stays as it is."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"endpoint": "billing", "rules": [{"when": "failures >= 2", "interval": "30s"}], "limit": 500}]
        }
    )

    endpoint: Text | None = Field(default=None, description="Whose policy changes: an endpoint's id or name.")
    job: Text | None = Field(default=None, description="Or a whole job's.")
    rules: list[dict[str, JsonValue]] | None = Field(
        default=None, max_length=50, description="In place of the rules it has; an empty list: none."
    )
    every: Duration | None = None
    cron: Text | None = None
    min_interval: Duration | None = None
    max_interval: Duration | None = None
    limit: int = Field(
        default=500, ge=1, le=50_000, description="The newest so many runs of each endpoint; 50,000 of all together."
    )
