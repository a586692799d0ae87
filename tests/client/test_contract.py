"""The client has a method for every operation of the API, and no other; both come from one document."""

import pytest
from tools.client_generator import api_document, files, operations

from mainspring.client import AsyncClient, Client
from mainspring.client.table import OPERATIONS

METHODS = ("get", "post", "put", "patch", "delete")


def test_written_files_are_current() -> None:
    for file, text in files().items():
        assert file.read_text(encoding="utf-8") == text, "run `make docs`"


def test_every_operation_has_one_method_and_every_method_an_operation() -> None:
    document = api_document()
    said = {item[method]["operationId"] for item in document["paths"].values() for method in METHODS if method in item}

    assert {operation.id for operation in OPERATIONS} == said
    assert tuple(operations(document)) == OPERATIONS
    names = [(operation.group, operation.name) for operation in OPERATIONS]
    assert len(set(names)) == len(names), "two operations share a method"


async def test_methods_can_be_found_by_hand_and_by_completion() -> None:
    async with AsyncClient("http://127.0.0.1:9") as async_client:
        with Client("http://127.0.0.1:9") as client:
            for operation in OPERATIONS:
                assert operation.group in dir(client)
                assert operation.name in dir(getattr(client, operation.group))
                assert callable(getattr(getattr(client, operation.group), operation.name))
                assert callable(getattr(getattr(async_client, operation.group), operation.name))


def test_misspelt_names_are_refused_with_what_there_is() -> None:
    with Client("http://127.0.0.1:9") as client:
        with pytest.raises(AttributeError, match=r"Client has no 'endpoint'; it has .*endpoints"):
            client.endpoint  # type: ignore[attr-defined]  # noqa: B018  # the mistake is the point
        with pytest.raises(AttributeError, match=r"client.endpoints has no 'remove'; it has .*delete"):
            client.endpoints.remove  # type: ignore[attr-defined]  # noqa: B018  # the mistake is the point
        with pytest.raises(TypeError, match=r"endpoints.list\(\) has no argument 'jop', did you mean 'job'\?"):
            client.endpoints.list(jop="x")  # type: ignore[call-arg]  # the mistake is the point
        with pytest.raises(TypeError, match=r"endpoints.read\(\) needs the argument 'endpoint'"):
            client.endpoints.read()  # type: ignore[call-arg]  # the mistake is the point
        with pytest.raises(TypeError, match=r"endpoints.read\(\) takes 1 positional arguments, and 2 were given"):
            client.endpoints.read("a", "b")  # type: ignore[call-arg]  # the mistake is the point
