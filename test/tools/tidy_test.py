# SPDX-License-Identifier: GPL-2.0-only
"""What reviewers would otherwise look for: lengths, licence lines, white space, missing tests."""

import os
import re

import pytest

from conftest import ROOT

FUNCTION_LINES = 73
FILE_LINES = 700

# Folders whose C and C++ has to keep these lengths. A test may tell a longer story.
SHORT = ("model", "helper", "examples", "bench", "fuzz")

CODE = (".c", ".cc", ".h", ".py", ".sh", ".cmake")
SCRIPTS = ("eunomia", "wscript", "CMakeLists.txt", os.path.join(".ci", "run"))

# Sources without a test file of their name, and what tests them instead.
TESTED_ELSEWHERE = {
    "helper/eunomia-builtin-cdfs.cc": "a table, which test/helper/eunomia-size-cdf-test.cc checks",
    "model/fabric/eunomia-switch-balancer.cc": "set-up, which every switch test goes through",
    "model/core/reorder/hd-validate.c": "part of hd-bitmap, whose test calls it at every step",
    "model/core/transport/sender-life.c": "new, free and reset, with which every sender test begins",
}


def tree():
    """Paths of all files of the project, relative to its root."""
    found = []
    for folder, folders, files in os.walk(ROOT):
        if folder == ROOT:
            folders[:] = [f for f in folders if f not in (".git", "results") and f[:5] != "build"]
        folders[:] = sorted(set(folders) - {"__pycache__", ".pytest_cache", "corpus"})
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(files)]
    return found


def is_code(path):
    return path in SCRIPTS or path.endswith(CODE)


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def texts():
    """(path, text) of every file but pictures, the licence and captured bytes."""
    for path in tree():
        if is_code(path) or path.endswith((".md", ".txt", ".json", ".yaml")):
            yield path, read(path)


def short_sources():
    return [p for p in tree() if p.startswith(SHORT) and p.endswith((".c", ".cc", ".h"))]


# Comments, literals and lines of the preprocessor may hold braces that open nothing.
NO_CODE = re.compile(
    r"""//[^\n]* | /\*.*?\*/ | R"\((?:.*?)\)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])+'
    | ^[ ]*\#(?:[^\n]*\\\n)*[^\n]*""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)


def opens_a_function(statement):
    """Does the text before a brace, outside functions, say that a function begins?"""
    statement = re.sub(r"^template\s*<.*>\s*(?=(class|struct)\b)", "", statement)
    if re.match(r"(namespace|extern|class|enum)\b(?!.*\()", statement):
        return False
    parenthesis, equals = statement.find("("), re.search(r"(?<!operator)=", statement)
    return parenthesis >= 0 and (equals is None or parenthesis < equals.start())


def functions(text):
    """(first line, number of lines) of each function, from its type to its closing brace."""
    bare = NO_CODE.sub(lambda match: "\n" * match.group().count("\n"), text)
    found, depth, inside, statement, line, first = [], 0, None, "", 1, 1
    for char in bare:
        if not statement.strip():
            first = line
        if char == "\n":
            line += 1
        if char == "{":
            if inside is None and opens_a_function(statement.strip()):
                inside = (depth, first)
            depth += 1
        elif char == "}":
            depth -= 1
            if inside is not None and inside[0] == depth:
                found.append((inside[1], line - inside[1] + 1))
                inside = None
        statement = "" if char in "{};" else statement + char
    assert depth == 0
    return found


def test_the_counter_counts():
    text = """
#define OPEN {
// {
static const int table[] = {1, 2};
namespace n {
struct s {
    int a; /* { */
};
int one(void)
{
    if ('{') {
        char s[] = "{";
    }
}
template <void (*F)(int)>
class C : public B {
    int two() const
    {
        auto f = [](int i) { return i; };
    }
    C() : m_a(1)
    {
    }
};
static struct s three(int a = 1,
                      int b = 2)
{
    return (struct s){.a = 1};
}
} // namespace n
"""
    assert functions(text) == [(9, 6), (17, 4), (21, 3), (25, 5)]


def test_functions_are_short():
    long, seen = [], 0
    for path in short_sources():
        for first, lines in functions(read(path)):
            seen += 1
            if lines > FUNCTION_LINES:
                long.append(f"{path}:{first}: {lines} lines")
    assert long == [] and seen > 500


def test_files_are_short():
    paths = short_sources() + [p for p in tree() if p.startswith("tools") and p.endswith(".py")]
    long = [(p, read(p).count("\n")) for p in paths if read(p).count("\n") > FILE_LINES]
    assert long == [] and len(paths) > 100


def test_the_licence_is_the_first_line():
    for path in tree():
        if not is_code(path):
            continue
        lines = read(path).splitlines()
        if lines[0].startswith(("#!", "# -*-")):
            del lines[0]
        assert re.fullmatch(
            r"(#|//|/\*) SPDX-License-Identifier: GPL-2\.0-only( \*/)?", lines[0]
        ), path


def test_white_space():
    for path, text in texts():
        assert "\t" not in text, path
        assert not re.search(r"[ \r]$", text, re.MULTILINE), path
        assert text.endswith("\n") and not text.endswith("\n\n"), path


def test_nothing_is_left_to_do():
    marks = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX)\b")
    assert [path for path, text in texts() if marks.search(text)] == []


def mirror(source):
    """The test file of a source below model/ or helper/."""
    base, extension = os.path.splitext(source)
    return os.path.join("test", re.sub(r"^model/", "", base)) + "-test" + extension


@pytest.mark.parametrize("source", [p for p in tree() if re.match(r"(model|helper)/.*\.cc?$", p)])
def test_every_source_has_its_test(source):
    exists = os.path.exists(os.path.join(ROOT, mirror(source)))
    assert exists != (source in TESTED_ELSEWHERE)


def test_exceptions_are_of_today():
    for source in TESTED_ELSEWHERE:
        assert os.path.exists(os.path.join(ROOT, source)), source
