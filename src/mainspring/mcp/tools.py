"""All tools by name, in the order in which an assistant reads them. Few, because each one uses up its attention."""

from typing import Any

from mainspring.mcp import calls, endpoints, hints, history, planner, workflows
from mainspring.mcp.tool import Tool

TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool
    for box in (endpoints.box, calls.box, hints.box, planner.box, history.box, workflows.box)
    for tool in box.tools
}
