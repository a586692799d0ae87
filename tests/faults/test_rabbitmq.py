"""Kind `queue` against a real RabbitMQ, which is killed and started again. Debian's package; long run only."""

from collections.abc import Iterator
from pathlib import Path

import aiormq
import pytest

from mainspring.domain.run import Header, RunStatus
from mainspring.outbound.vault import AesVault, KeyRing
from tests.harness.rabbitmq import RabbitMq
from tests.outbound.test_queue import SLOT, call, facts, sealed, to, verdict


@pytest.fixture
def rabbit(tmp_path: Path, long_run: bool) -> Iterator[RabbitMq]:
    if not long_run:
        pytest.skip("RabbitMQ takes seconds to start: pytest --long")
    if not RabbitMq.is_installed():
        pytest.skip("rabbitmq-server is not installed: apt-get install rabbitmq-server")
    with RabbitMq(tmp_path / "rabbit") as running:
        yield running


async def test_message_is_confirmed_refused_and_kept_over_a_restart(rabbit: RabbitMq) -> None:
    vault = AesVault(KeyRing(b"k" * 32))
    place = f"127.0.0.1:{rabbit.port}"
    url = f"amqp://{place}"
    connection = await aiormq.connect(f"amqp://guest:guest@{place}/")
    await (await connection.channel()).queue_declare("orders", durable=True)
    headers = (Header("trace", "7"), Header("Content-Type", "text/plain"))

    sent = await call(to(url, headers=headers), vault)
    unbound = await call(to(url, exchange="amq.direct"), vault)
    no_exchange = await call(to(url, exchange="nowhere"), vault)
    wrong = await call(to(url, username="guest", headers=(sealed(vault, "wrong password"),)), vault)
    no_space = await call(to(f"{url}/nowhere"), vault)
    rabbit.kill()
    down = await call(to(url), vault)
    rabbit.start()
    connection = await aiormq.connect(f"amqp://guest:guest@{place}/")
    message = await (await connection.channel()).basic_get("orders")
    await connection.close()

    assert verdict(sent) == (RunStatus.SUCCESS, None), sent.error
    assert facts(sent) == {"confirmed": True, "message_id": SLOT, "duplicate": False}
    refused = (unbound, no_exchange, wrong, no_space)
    assert [each.error_code for each in refused] == ["refused"] * 4, [each.error for each in refused]
    assert verdict(down) == (RunStatus.FAILURE, "connect")
    properties = message.header.properties
    assert (message.body, properties.message_id, properties.content_type) == (b"hello", SLOT, "text/plain")
    assert properties.headers == {"trace": "7"}
