"""Templates through MCP: a dry run shows what the first run would send."""

from tests.mcp.conftest import Assistant


async def test_dry_run_shows_the_texts_of_the_first_run(assistant: Assistant) -> None:
    wish = {"name": "it", "every": "5m", "url": "https://example.com/", "method": "POST", "body": "{{ endpoint.name }}"}
    rehearsed = await assistant("create_endpoint", dry_run=True, **wish)
    assert rehearsed["templates"]["texts"] == [{"name": "body", "text": "it"}]
    await assistant("create_endpoint", **wish)
    edited = await assistant("edit_endpoint", endpoint="it", body="{{ job.name }}", dry_run=True)
    assert edited["templates"]["texts"] == [{"name": "body", "text": "default"}]


async def test_dry_run_of_a_test_shows_the_texts_and_calls_nothing(assistant: Assistant) -> None:
    wish = {"name": "it", "every": "5m", "url": "https://example.com/", "method": "POST", "body": "{{ endpoint.name }}"}
    await assistant("create_endpoint", **wish)

    shown = await assistant("test_endpoint", endpoint="it", dry_run=True)

    assert (shown["would_call"]["target"], shown["templates"]["texts"]) == (
        "POST https://example.com/",
        [{"name": "body", "text": "it"}],
    )
    assert (await assistant("list_runs", endpoint="it"))["runs"] == []
