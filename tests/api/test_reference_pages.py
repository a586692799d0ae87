"""Pages for people: they come from here alone, and no script stands in them."""

import re

import pytest
from httpx2 import AsyncClient


async def test_reference_page_has_no_inline_script_and_asks_nobody_else(api: AsyncClient) -> None:
    page = await api.get("/api/docs")
    parts = [await api.get(path) for path in re.findall(r'(?:src|href)="(/api/docs/[^"]+)"', page.text)]

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert [part.headers["content-type"].partition(";")[0] for part in parts] == ["text/css", "text/javascript"]
    assert re.findall(r"<script(?![^>]*\bsrc=)|\son\w+=|\sstyle=", page.text) == []
    everything = page.text + "".join(part.text for part in parts)
    assert re.findall(r"https?://", everything) == []
    assert "innerHTML" not in everything


@pytest.mark.parametrize("name", ["nothing.js", "..%2f..%2fapp.py", "__init__.py"])
async def test_only_the_parts_of_the_page_are_served(api: AsyncClient, name: str) -> None:
    assert (await api.get(f"/api/docs/{name}")).status_code == 404


async def test_front_page_names_the_reference(api: AsyncClient) -> None:
    assert "/api/docs" in (await api.get("/")).text
