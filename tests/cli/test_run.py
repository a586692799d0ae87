"""`mainspring runs` and `run show`, beside the database and through its server."""

from tests.cli.pair import Pair
from tests.stores.world import an_outcome, claim, finished


async def test_manual_run_is_explained_as_manual(pair: Pair) -> None:
    await pair.json("endpoint", "add", "health", "--url", "https://example.com/", "--every", "1h", "--min", "30m")
    await pair.json("endpoint", "run", "health")
    batch = await claim(pair.stores)
    await pair.stores.schedule.finish([finished(each, an_outcome()) for each in batch.claims])
    (run,) = await pair.json("runs")

    near, far = await pair.both("run", "show", run["id"])

    assert far == near
    assert "This run was requested manually at" in near
    assert "triggered by manual\n" in near
    assert "interval" not in near
