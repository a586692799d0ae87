"""A workflow as a graph: what stands in a node."""

from mainspring.workflow.diagram import THE_END, diagram_of
from tests.workflow.stage import a_workflow


def test_every_kind_of_step_says_what_it_does_in_a_few_words() -> None:
    workflow = a_workflow(
        {"call": {"endpoint": "billing"}},
        {"call": {"url": "https://example.com/" + "long/" * 20}},
        {"email": {"to": "ann@example.com", "subject": "Hello", "body": "x"}},
        {"hint": {"endpoint": "billing", "interval": "30s"}},
        {"hint": {"endpoint": "billing", "after": "5s"}},
        {"hint": {"endpoint": "billing", "clear": True}},
        {"wait": "3d"},
        {"wait": {"until": "2026-01-31T08:30:00Z"}},
        {"wait": {"cron": "@daily", "timezone": "Europe/Berlin"}},
        {"wait_for": {"event": "reply", "timeout": "2d"}},
        {"set": {"a": "1", "b": "2"}},
        {"branch": {"cases": [{"when": "vars.a > 1", "goto": "s12"}], "default": "s12"}},
        {"end": "done"},
    )

    labels = [node.label for node in diagram_of(workflow)[0]]

    assert len(labels[1]) < len("https://example.com/" + "long/" * 20)
    assert labels[1].endswith("…")
    assert [*labels[:1], *labels[2:]] == [
        "run billing",
        "Hello to ann@example.com",
        "billing: every 30s",
        "billing: run in 5s",
        "billing: no hints",
        "3d",
        "until 2026-01-31T08:30:00Z",
        "@daily Europe/Berlin",
        "reply within 2d",
        "a, b",
        "vars.a > 1",
        "done",
    ]


def test_every_way_out_of_a_step_is_an_edge() -> None:
    workflow = a_workflow(
        {"call": {"url": "https://example.com/"}, "on_failure": {"goto": "s2"}},
        {"wait_for": {"event": "reply", "timeout": "2d", "on_timeout": "s2"}},
        {"wait": "1s"},
    )

    nodes, edges = diagram_of(workflow)

    assert [node.id for node in nodes] == ["s0", "s1", "s2", THE_END]
    assert [(edge.source, edge.target, edge.kind) for edge in edges] == [
        ("s0", "s1", "next"),
        ("s0", "s2", "failure"),
        ("s1", "s2", "next"),
        ("s1", "s2", "timeout"),
        ("s2", THE_END, "next"),
    ]
