"""What must be in no committed file: addresses of package indexes, paths of one machine, loose ends, borrowed words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.packaging.sources import CODE, PACKAGES, ROOT, committed, shipped, text_of

LONGEST_FILE = 400
CODE_SUFFIXES = (".py", ".lua", ".toml")

# Written so that none of them matches this file.
INDEX = re.compile(
    r"""https?://[^\s"'<>)]*/simple\b
      | \b(?:files|test|upload|www)\.(?:pypi|pythonhosted)\b | \bpypi\.(?:org|python)\b | \bregistry\.npmjs\b
      | /packages/[0-9a-f]{2}/[0-9a-f]{2,}/
      | \b(?:extra-)?index-url[\s=]+\S*:/ | \b(?:PIP|UV)_(?:EXTRA_|DEFAULT_)?INDEX(?:_URL)?\s*=""",
    re.VERBOSE,
)
MACHINE = re.compile(r"(?<![\w.~/<}-])/(?:work|root)/")
FOLDER = re.compile(r"(?<![\w.~/<}-])/(?:home/\w|tmp/\w)")
LOOSE_END = re.compile(r"\b(?:T[O]DO|F[I]XME|X[X]X)\b")

SYNONYMS = re.compile(r"compress|condens|^memor(?:y|ies)$|^context$", re.IGNORECASE)
GIVEN = re.compile(r"\w+\(context\)")  # an argument that asyncio and Typer hand over by this name
THEIRS = {  # how Hermes Agent and pydantic-ai call methods, arguments and attributes of an adapter
    "hermes.py": re.compile(
        r"(?:should_)?compress(?:\(\w+\))?|_last_compress_aborted|compression_count|\w*\(?context_length\)?"
    ),
    "pydantic_ai.py": re.compile(r"\w+\(request_context\)"),
}
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    """Every file git would commit, but for binary ones."""
    names = committed()
    if names is None:
        pytest.skip("this is no git checkout, or git is not installed")
    return {name: text for name in names if (text := text_of(name)) is not None}


def _lines(texts: dict[str, str], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{name}:{number}"
        for name, text in texts.items()
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


def _in_code(name: str) -> bool:
    return name.split("/")[0] in CODE and name.endswith(CODE_SUFFIXES)


def _is_test(name: str) -> bool:
    return name.startswith("tests/") and name.endswith(".py")


def test_no_file_names_a_package_index(texts: dict[str, str]) -> None:
    assert _lines(texts, INDEX) == []


@pytest.mark.parametrize(
    "line",
    [
        "--index-url https" + "://index.example.com/root/dev",
        "https" + "://index.example.com/pypi/simple",
        "https" + "://files.example.com/packages/ab/cd" + "/x.whl",
        "files.python" + "hosted.org",
        "PIP_INDEX" + "_URL=x",
    ],
)
def test_an_index_would_be_found(line: str) -> None:
    assert INDEX.search(line)


def test_lock_files_hold_no_address(texts: dict[str, str]) -> None:
    locks = {name: text for name, text in texts.items() if name.endswith(".lock")}
    kinds = ("", "-browser", "-build", "-dev", "-hermes", "-k8s", "-worker")
    assert set(locks) == {f"requirements{kind}.lock" for kind in kinds}
    assert [name for name, text in locks.items() if "://" in text or "index" in text] == []
    unhashed = [
        f"{name}: {line}"
        for name, text in locks.items()
        for line in text.splitlines()
        if "==" in line and not line.endswith("\\")
    ]
    assert unhashed == []


def test_no_file_names_a_folder_of_one_machine(texts: dict[str, str]) -> None:
    assert _lines(texts, MACHINE) == []
    assert _lines({name: text for name, text in texts.items() if not name.startswith("tests/")}, FOLDER) == []


@pytest.mark.parametrize("line", ["cd /wo" + "rk/main", "'/ro" + "ot/x'"])
def test_a_machine_path_would_be_found(line: str) -> None:
    assert MACHINE.search(line)


def test_no_file_is_too_long_to_read(texts: dict[str, str]) -> None:
    lengths = {name: len(text.splitlines()) for name, text in texts.items() if _in_code(name) or _is_test(name)}
    assert {name: length for name, length in lengths.items() if length > LONGEST_FILE} == {}


def test_no_loose_ends(texts: dict[str, str]) -> None:
    mine = {name: text for name, text in texts.items() if name.endswith((*CODE_SUFFIXES, ".md", ".yaml", "Makefile"))}
    assert _lines(mine, LOOSE_END) == []


def test_no_file_holds_two_sides_of_a_merge(texts: dict[str, str]) -> None:
    marks = re.compile(r"^(<{7} |>{7} |={7}$)", re.MULTILINE)
    assert [name for name, text in texts.items() if marks.search(text)] == []


def test_no_empty_files(texts: dict[str, str]) -> None:
    empty = [name for name, text in texts.items() if not text.strip()]
    packages_of_tests = {name for name in empty if Path(name).name == "__init__.py" and not _in_code(name)}
    assert [name for name in empty if Path(name).name != "py.typed" and name not in packages_of_tests] == []


@pytest.mark.parametrize("folder", CODE)
def test_code_folders_hold_packages_only(folder: str) -> None:
    # The editable install puts these folders on the path: a loose module would be importable by its bare name.
    assert [path.name for path in (ROOT / folder).iterdir() if path.is_file()] == []
    inside = {path.name for path in (ROOT / folder).iterdir() if path.name != "__pycache__"}
    assert inside == {name for name, place in PACKAGES.items() if place.startswith(f"{folder}/")}


@pytest.mark.parametrize("package", PACKAGES)
def test_every_public_module_says_what_it_is(package: str) -> None:
    public = [p for p in shipped(package) if not p.name.startswith("_") or p.name.startswith("__")]
    silent = [p.relative_to(ROOT).as_posix() for p in public if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []


@pytest.mark.parametrize("package", PACKAGES)
def test_identifiers_use_our_words(package: str) -> None:
    borrowed = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in shipped(package)
        for name in (path.stem, *defined(path.read_text()))
        if not GIVEN.fullmatch(name)
        and any(SYNONYMS.search(word) for word in WORD.findall(name))
        and not (path.name in THEIRS and THEIRS[path.name].fullmatch(name))
    ]
    assert borrowed == []


def test_a_borrowed_word_would_be_found() -> None:
    source = (
        "import contextlib\nclass ContextCompressor:\n    def f(self, memory): self.condensed = 1; compress_it = 2\n"
    )
    names = ["ContextCompressor", "f", "f(self)", "f(memory)", "condensed", "compress_it"]
    assert sorted(defined(source)) == sorted(names)
    assert [n for n in names if any(SYNONYMS.search(word) for word in WORD.findall(n))] == [names[0], *names[3:]]


def defined(source: str) -> Iterator[str]:
    """Names a module itself gives to something; what it imports or uses of others is theirs."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                yield name
                arguments = node.args
                for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                    yield f"{name}({argument.arg})"
            case ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
