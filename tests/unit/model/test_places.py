"""The line of what a pointer names."""

import pytest

from stdworker.model.places import line_of

YAML = b"a: 1\nb:\n  - x\n  - y: 2\n---\n---\nc:\n  d: 3\n---\n- e: 4\n- f: 5\n"


@pytest.mark.parametrize(
    ("number", "pointer", "line"),
    [
        (0, "", 1),
        (0, "/b", 2),
        (0, "/b/1/y", 4),
        (0, "/b/²", 2),
        (0, "/b/" + "9" * 5_000, 2),
        (1, "/c/d", 8),
        (1, "/c/missing", 7),
        (2, "/e", 10),
        (3, "/f", 11),
        (4, "", None),
    ],
)
def test_the_line_is_that_of_the_member_or_of_its_nearest_parent(number, pointer, line):
    assert line_of(YAML, "f.yaml", number, pointer) == line


def test_json_is_read_as_the_yaml_that_it_is():
    assert line_of(b'{\n  "a": {\n    "b": 1\n  }\n}', "f.json", 0, "/a/b") == 3


@pytest.mark.parametrize(("text", "name"), [(b"a = 1", "f.toml"), (b"a: [", "f.yaml"), (b"\xff", "f.yaml")])
def test_where_it_can_not_be_told_there_is_none(text, name):
    assert line_of(text, name, 0, "/a") is None
