"""Text for people is plain technical English: none of the words below occur in it.

`SOURCES` maps a kind of text to a function that returns (place, text) pairs. To check another kind, such as UI strings,
add a row. Code in backticks and in code blocks is not checked: it has names, not sentences.
"""

import ast
import io
import re
import tokenize
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mainspring.domain.labels import api_labels

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
# Decisions record history. The reference is generated: its text is checked where it is written.
UNCHECKED = (DOCS / "decisions", DOCS / "reference")

SOURCE = ROOT / "src/mainspring"
EXAMPLES = DOCS / "examples"

# Expression -> what to write instead.
AVOID: dict[str, str] = {
    r"whoever|whomever": "name the person or program: 'the user who', 'any process that'",
    r"whatever it is": "name the thing",
    r"nobody|no one": "name what is missing: 'no scheduler', 'no user'",
    r"somebody|someone|anybody": "name the person or program",
    r"(?:is|are|was|were) told": "shown, reported, sent, alerted",
    r"tells? (?:that|of|whether|which|what|how|a|an)": "reports",
    r"whatever (?:the|its?|an?|they|you|is|was|else|happens|kind|networks)": "regardless of, every",
    r"however (?:many|much|often|long|large)": "regardless of the number",
    r"doors?": "interface",
    r"lately": "recently",
    r"for ever": "forever",
    r"all the same": "anyway",
    r"once more": "again",
    r"where (?:nobody|nothing|none|there)": "if no",
    r"look(?:s|ing)? (?:at|through)": "read, check, search",
    r"stands?|stood": "is shown, is stored, remains",
    r"lies in|lay in": "is in",
    r"by (?:itself|themselves)": "automatically, separately",
    r"of (?:its|their|our|your) own": "separate, its, your",
    r"anew|afresh": "again",
    r"(?<!with a )letters?(?! (?:and|or) (?:a )?digits?|, digits| first)": "email",
    r"reckon\w*": "count, calculate",
    r"journeys?": "sequence, steps",
    r"what comes|what came": "upcoming runs, the response",
    r"(?:is|be|are) well again|well again": "recovered",
    r"from afar|afar": "remote",
    r"(?-i:is none|there is none)": "is missing, does not exist",  # `None` is a value
    r"so already|already so": "already has these settings",
    r"(?:is|are) no (?:such|name|problem|scenario|duration|user|place|key|hint|limit|backup|database|call)": "is not a",
    r"no way back": "cannot be undone",
    r"(?:the )?(?:newest|first|last) so many": "the number of, newest first",
    r"there is no such": "not found",
    r"(?:a )?way out": "solution",
    r"wish(?:es|ed)?": "request, option",
    r"strangers?": "external, untrusted",
    r"in hand": "in progress",
    r"as it were|so to speak": "leave it out",
    r"nonsense": "invalid data",
    r"goes on|go on\b(?! to)": "continues, resumes",
    r"tried again": "retried",
    r"Its? (?:is|was|has|runs|ran) (?:kept|there|made|told)": "name the thing: 'The endpoint is stored'",
    r"befall\w*|whence|thereof|hitherto|beside that": "use everyday words",
    r"before, (?:it|a|an|the|only|every|one)": "leave out how it was",
    r"previously": "leave out how it was",
}


def prose_of(markdown: str) -> str:
    """The sentences of a page: code blocks, inline code and link targets are blanked, lines are kept."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    without_blocks = re.sub(r"^```.*?^```", blank, markdown, flags=re.MULTILINE | re.DOTALL)
    without_code = re.sub(r"`[^`\n]*`", "", without_blocks)
    return re.sub(r"\]\([^)]*\)", "]", without_code)


def pages() -> Iterator[tuple[str, str]]:
    """The written documentation."""
    for path in [*sorted(ROOT.glob("*.md")), *sorted(DOCS.rglob("*.md"))]:
        if not any(folder in path.parents for folder in UNCHECKED):
            yield path.relative_to(ROOT).as_posix(), prose_of(path.read_text(encoding="utf-8"))


def templates() -> Iterator[tuple[str, str]]:
    """What a contributor sees on the repository's host."""
    for path in sorted((ROOT / ".github").rglob("*.md")):
        yield path.relative_to(ROOT).as_posix(), prose_of(path.read_text(encoding="utf-8"))


def strings() -> Iterator[tuple[str, str]]:
    """The sentences of the program: messages, descriptions, help, and the first lines of docstrings."""
    for path in sorted(SOURCE.rglob("*.py")):
        yield from sentences_of(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8"))


def comments() -> Iterator[tuple[str, str]]:
    """Whole docstrings and comments of Python, and comments of SQL: each query's sentence of purpose is one."""
    for path in sorted(each for folder in (SOURCE, ROOT / "tools", EXAMPLES) for each in folder.rglob("*.py")):
        yield path.relative_to(ROOT).as_posix(), remarks_of(path.read_text(encoding="utf-8"))
    for path in sorted(SOURCE.rglob("*.sql")):
        lines = path.read_text(encoding="utf-8").split("\n")
        yield path.relative_to(ROOT).as_posix(), "\n".join(line.partition("-- ")[2] for line in lines)
    for path in [*sorted(EXAMPLES.rglob("*.yaml")), *sorted(EXAMPLES.rglob("*.toml"))]:
        yield path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")


def remarks_of(source: str) -> str:
    """The docstrings and comments of a module, each on its line; code in backticks is blanked."""
    lines = [""] * (source.count("\n") + 2)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            lines[token.start[0]] = token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for number, line in enumerate(node.value.value.split("\n"), node.lineno):
                lines[number] = line
    return re.sub(r"`[^`\n]*`", "", "\n".join(lines[1:]))


def sentences_of(place: str, source: str) -> Iterator[tuple[str, str]]:
    """The string literals of a module that have two or more words, each at its line. Docstrings: their first line."""
    tree = ast.parse(source)
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            text = node.value.partition("\n")[0] if id(node) in docstrings else node.value
            yield f"{place}:{node.lineno}", re.sub(r"`[^`\n]*`", "", text)


WORDS_OF_SOURCES = re.compile(
    r""""((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`|(?:^|>|\}|/)([^<>{}"`;=]*[a-z]{2} [^<>{}"`;=]*)(?=<|\{|$)""",
    re.MULTILINE,
)


def ui_sentences_of(source: str) -> str:
    """The text in a UI source that people may read: literals with a space, and text between tags. Lines are kept."""
    code = re.sub(r"/\*.*?\*/", lambda found: "\n" * found[0].count("\n"), source, flags=re.DOTALL)
    code = re.sub(r"(?m)(?:^|\s)//.*$", "", code)
    lines = [""] * (code.count("\n") + 1)
    for found in WORDS_OF_SOURCES.finditer(code):
        text = next((part for part in found.groups() if part), "")
        if " " in text.strip() and not re.search(r"=>|\bconst\b|\breturn\b|\bimport\b", text):
            lines[code.count("\n", 0, found.start())] += " " + text.replace("\n", " ")
    return "\n".join(lines)


def ui() -> Iterator[tuple[str, str]]:
    """The strings of the web UI."""
    for path in sorted((ROOT / "web" / "src").rglob("*.ts*")):
        if path.name != "schema.d.ts" and ".test." not in path.name:
            yield path.relative_to(ROOT).as_posix(), ui_sentences_of(path.read_text(encoding="utf-8"))


def labels() -> Iterator[tuple[str, str]]:
    """The words of states, events and errors, which the UI takes from the API."""
    yield "domain/labels.py", "\n".join(text for table in api_labels().values() for text in table.values())


SOURCES: dict[str, Callable[[], Iterator[tuple[str, str]]]] = {
    "docs": pages,
    "templates": templates,
    "source": strings,
    "comments": comments,
    "ui": ui,
    "labels": labels,
}


def complaints(place: str, text: str) -> Iterator[str]:
    for expression, instead in AVOID.items():
        for found in re.finditer(rf"\b(?:{expression})\b", text, re.IGNORECASE):
            line = text.count("\n", 0, found.start()) + 1
            yield f"{place}:{line}: {found[0]!r}; write instead: {instead}"


@pytest.mark.parametrize("source", SOURCES)
def test_text_avoids_the_listed_words(source: str) -> None:
    found = [complaint for place, text in SOURCES[source]() for complaint in complaints(place, text)]

    assert not found, "\n" + "\n".join(found)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("The link opens for whoever has it.", "whoever"),
        ("The owner is told.", "is told"),
        ("A draft of its own.", "of its own"),
        ("It sends letters at night.", "letters"),
    ],
)
def test_listed_word_is_found_with_its_line(text: str, word: str) -> None:
    assert [each.partition(";")[0] for each in complaints("page.md", f"A title\n{text}")] == [f"page.md:2: {word!r}"]


def test_code_is_not_checked() -> None:
    page = "Use `nobody`.\n\n```sh\nsu nobody\n```\n[a link](nobody.md)\nAll good.\n"

    assert list(complaints("page.md", prose_of(page))) == []


def test_strings_and_first_lines_of_docstrings_are_checked() -> None:
    source = (
        'def refuse() -> None:\n    """Nobody reads it.\n\n    Nobody.\n    """\n    raise ValueError(f"nobody {1}")\n'
    )

    assert [place for place, text in sentences_of("module.py", source) for _ in complaints(place, text)] == [
        "module.py:2",
        "module.py:6",
    ]


def test_strings_and_text_between_tags_are_checked_and_code_is_not() -> None:
    source = """\
/** Nobody reads this. */
const nobody = told.map((each) => each.stands); // whoever
const title = "Nobody knows";
return <Text size="sm">It stands here {name} and whoever</Text>;
"""

    assert [each.partition(";")[0] for each in complaints("a.tsx", ui_sentences_of(source))] == [
        "a.tsx:4: 'whoever'",
        "a.tsx:3: 'Nobody'",
        "a.tsx:4: 'stands'",
    ]
