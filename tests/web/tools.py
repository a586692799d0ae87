"""The UI's own tools, as its build brought them."""

from pathlib import Path

WEB = Path(__file__).parent.parent.parent / "web"
AXE = WEB / "node_modules" / "axe-core" / "axe.min.js"
