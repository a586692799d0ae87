"""All tools by their names, in the order in which an assistant reads them. At most twenty: each one costs attention."""

from typing import Any

from mainspring.mcp import advice, endpoints, flows, history, planner
from mainspring.mcp.tool import Tool

TOOLS: dict[str, Tool[Any]] = {
    tool.name: tool for box in (endpoints.box, advice.box, planner.box, history.box, flows.box) for tool in box.tools
}
