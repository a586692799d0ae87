"""Every Python example of docs/client.md, run against a real server."""

import asyncio
import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "client.md"
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


async def test_examples_of_the_page_run(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAINSPRING_SERVER", server)
    monkeypatch.setenv("MAINSPRING_API_KEY", "all")
    examples = BLOCK.findall(PAGE.read_text(encoding="utf-8"))

    assert len(examples) == 5
    for example in examples:
        await asyncio.to_thread(exec, compile(example, "docs/client.md", "exec"), {"__name__": "example"})
