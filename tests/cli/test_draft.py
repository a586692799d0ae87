"""`mainspring rules draft` with a model's server on the loopback."""

from tests.cli.shell import Shell
from tests.peers.model_server import says, serving_models

RULE = {"name": "busy", "when": "body.depth > 10", "interval": "30s", "ttl": "5m"}


def test_drafted_rules_are_shown_and_added_only_if_accepted(shell: Shell) -> None:
    shell.add("queue", "--description", "faster while the queue is deep")
    with serving_models(says("openai", ("submit_rules", {"rules": [RULE], "explanation": "Deep is busy."}))) as server:
        model = {"MAINSPRING_MODEL": "openai:small", "MAINSPRING_MODEL_URL": server.model_url("openai")}
        shown = shell.ok("rules", "draft", "queue", **model)
        before = shell.ok("rules", "list")
        accepted = shell.ok("rules", "draft", "queue", "--accept", **model)

    assert "when: body.depth > 10" in shown
    assert "Deep is busy." in shown
    assert shown.endswith("nothing was added; --accept adds the drafted rules\n")
    assert before == "No rules yet.\n"
    assert accepted.endswith("added 1\n")
    assert shell.json("rules", "list")[0]["rule"] == RULE


def test_draft_without_a_model_says_how_to_add_one(shell: Shell) -> None:
    shell.add("queue")

    assert "set MAINSPRING_MODEL to openai:NAME" in shell.refused("rules", "draft", "queue", code=78)
