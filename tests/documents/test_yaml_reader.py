"""YAML that strangers wrote: every fault has a place and a way out, and nothing is a traceback or takes long."""

from typing import Any

import pytest
from ruamel.yaml import YAML

from mainspring.documents.faults import DocumentFault, InvalidDocument, SourcePlace
from mainspring.documents.yaml_reader import BYTES_MAX, read_documents
from mainspring.workflow.yaml_nodes import compose_all


def read(text: str) -> list[object]:
    return [tree.value for tree in read_documents("f.yaml", text.encode())]


def refusal(data: str | bytes) -> str:
    with pytest.raises(InvalidDocument) as refused:
        read_documents("f.yaml", data.encode() if isinstance(data, str) else data)
    return refused.value.in_full()


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("a: yes", {"a": "yes"}, id="yes is text, as YAML 1.2 has it"),
        pytest.param("a: true\nb: ~\nc: 1.5", {"a": True, "b": None, "c": 1.5}, id="plain values"),
        pytest.param("a: 010\nb: 0x1F\nc: 1_000", {"a": 10, "b": 31, "c": 1000}, id="numbers"),
        pytest.param("a: 2025-01-01", {"a": "2025-01-01"}, id="a date is text"),
        pytest.param("123: a\ntrue: b", {"123": "a", "true": "b"}, id="keys are text as they are written"),
        pytest.param("a: .inf", {"a": ".inf"}, id="infinity is text"),
        pytest.param("a: " + "9" * 5_000, {"a": "9" * 5_000}, id="a number nobody could mean"),
        pytest.param("\ufeffa: 1", {"a": 1}, id="a byte order mark"),
        pytest.param(
            "x: &d {a: 1, b: 2}\ny:\n  <<: *d\n  b: 3", {"x": {"a": 1, "b": 2}, "y": {"a": 1, "b": 3}}, id="merge"
        ),
        pytest.param(
            "x: &d {a: 1}\ny:\n  <<: [*d, {q: 1}]", {"x": {"a": 1}, "y": {"a": 1, "q": 1}}, id="merge of a list"
        ),
    ],
)
def test_document_is_read(text: str, value: object) -> None:
    assert read(text) == [value]


def test_several_documents_in_one_file_are_read_and_empty_ones_left_out() -> None:
    assert read("a: 1\n---\n---\nb: 2\n") == [{"a": 1}, None, {"b": 2}]


def test_all_duplicate_keys_are_told_with_the_line_of_the_first() -> None:
    assert refusal("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n") == (
        "f.yaml:4:3: 'c' is given twice; the first one is in line 3\n"
        "  4 |   c: 2\n"
        "    |   ^\n"
        "f.yaml:5:1: 'a' is given twice; the first one is in line 1\n"
        "  5 | a: 3\n"
        "    | ^"
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a:\n\tb: 1\n", "f.yaml:2:1: a tab; YAML is indented with spaces only", id="tab"),
        pytest.param("a: b: c\n", "f.yaml:1:5: not YAML: a ': ' is not allowed here", id="colon"),
        pytest.param("a:\n  - b\n c: d\n", "f.yaml:3:2: not YAML: this line is indented differently", id="indentation"),
        pytest.param("a: 'open\nb: 1\n", "f.yaml:1:4: not YAML: found unexpected end of stream", id="open quote"),
        pytest.param("a: *nope", "f.yaml:1:4: not YAML: found undefined alias 'nope'", id="unknown alias"),
        pytest.param("a: !!python/object:os.system x", "the tag 'tag:yaml.org,2002:python/object:os", id="python tag"),
        pytest.param("? [a]\n: b", "f.yaml:1:3: a key that is a list or a mapping; keys are text", id="complex key"),
        pytest.param("<<: 5", "f.yaml:1:5: `<<` merges a mapping", id="merge of a number"),
        pytest.param("a: &a [*a]", "an alias leads back into itself", id="recursion"),
        pytest.param("a: &a\n  <<: *a\n", "leads back into itself", id="recursive merge"),
        pytest.param("[" * 10_000, "nested too deep; at most 50 levels are read", id="deep brackets"),
        pytest.param("\n".join("  " * n + "a:" for n in range(60)), "nested too deep", id="deep blocks"),
        pytest.param("a: \x7f", "not YAML: unacceptable character", id="delete"),
    ],
)  # fmt: skip
def test_nonsense_is_refused_in_words(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        pytest.param(b"\x00\x01", "a control character (U+0000); this is not a text file", id="binary"),
        pytest.param(b"a: 1\nb: \xff\xfe", "f.yaml:2:1: not UTF-8 text; save the file as UTF-8", id="not UTF-8"),
        pytest.param(b"#" * (BYTES_MAX + 1), "at most 5,000,000 are read: split it into several files", id="huge"),
    ],
)
def test_what_is_no_text_is_refused_in_words(data: bytes, message: str) -> None:
    assert message in refusal(data)


def test_aliases_that_multiply_are_stopped() -> None:
    bomb = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    bomb += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    assert "more than 300,000 values once aliases are followed" in refusal("\n".join(bomb))


def test_merges_that_multiply_are_stopped() -> None:
    """Some hundred bytes that would have taken weeks: every pair that a merge looks at is counted."""
    bomb = ["x-0: &a0 {k: 1}"]
    bomb += [f"x-{n}: &a{n} {{<<: [{','.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 13)]
    text = "\n".join(bomb)

    assert len(text) < 800
    assert "more than 300,000 values once aliases are followed" in refusal(text)


def test_merge_of_a_mapping_whose_key_is_a_list_is_refused_in_words() -> None:
    assert "a key that is a list or a mapping" in refusal("x: &a {? [1] : 2}\ny: {<<: *a}")


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\nb: [x, 'y', \"z\"]\n",
        "a: &x {b: 1}\nc: *x\nd: {<<: *x}\n",
        "a: |\n  one\n  two\nb: >-\n  three\n  four\n",
        "? a\n: b\n",
        "a: !!str 12\nb: !!int '3'\n",
        "- 1\n- - 2\n  - 3\n",
        "a: ~\nb:\nc: ''\n",
        "%YAML 1.2\n---\na: yes\n...\n",
        "a: 0o17\nb: 017\nc: 1e3\nd: .5\ne: 12:30\nf: 2001-01-01\n",
        "{a: 1, b: [2, {c: 3}], 'd e': f}",
        "a: b #c\n# d\ne: 'f''g'\n",
        '"a\\u00e9": "\\x41\\/\\n"',
        "a: http://b.c/d:e\n",
        "--- 1\n--- 2\n",
        "\ufeffa: 1",
    ],
)
def test_fast_reader_and_careful_reader_read_the_same(text: str) -> None:
    def plain(node: Any) -> object:
        where = (str(node.tag), node.start_mark.line, node.start_mark.column)
        if isinstance(node.value, str):
            return *where, node.value
        return *where, [tuple(map(plain, each)) if isinstance(each, tuple) else plain(each) for each in node.value]

    careful = [plain(node) for node in YAML(typ="safe", pure=True).compose_all(text) if node is not None]

    assert [plain(node) for node in compose_all(text, 50) if node is not None] == careful


def test_nothing_in_a_fault_acts_on_a_terminal() -> None:
    fault = DocumentFault(SourcePlace("f\x1b.yaml", 1, 1, 1, "a\u202e: \x9b1m"), "no\x07")

    assert str(fault) == "f\\x1b.yaml:1:1: no\\x07\n  1 | a\\u202e: \\x9b1m\n    | ^"


def test_long_line_is_shown_around_its_fault() -> None:
    shown = str(DocumentFault(SourcePlace("f", 1, 1001, 1, "x" * 1000 + "!" + "y" * 1000), "here"))

    assert len(shown.splitlines()[1]) < 170
    assert shown.splitlines()[1][shown.splitlines()[2].index("^")] == "!"


def test_many_faults_are_counted_and_the_first_shown() -> None:
    refused = InvalidDocument([DocumentFault(SourcePlace("f", number), "wrong") for number in range(1, 61)])

    assert str(refused) == "f:1:1: wrong (and 59 more)"
    assert refused.in_full().splitlines()[-1] == "... and 10 more"
