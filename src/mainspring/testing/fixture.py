"""The pytest fixture `mainspring`. Load it in a conftest.py: `pytest_plugins = ["mainspring.testing.fixture"]`."""

from collections.abc import Iterator

import pytest

from mainspring.testing.play import Play


@pytest.fixture
def mainspring() -> Iterator[Play]:
    """An installation in memory whose clock moves by hand."""
    with Play() as play:
        yield play
