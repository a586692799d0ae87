"""Test a configuration as it would run: `docs/testing.md` describes it. All public names are listed here.

The workers, the store and every decision are those of production; the clock, the targets, the model and the mailbox are
scripted. Importing this package needs no pytest; `mainspring.testing.fixture` has the fixture.
"""

from mainspring.testing.play import Play
from mainspring.testing.scripts import Answer, ModelScript, ScriptedModel, SentMessage, TargetCall, ToolStep

__all__ = ["Answer", "ModelScript", "Play", "ScriptedModel", "SentMessage", "TargetCall", "ToolStep"]
