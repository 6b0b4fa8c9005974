"""The drawing in `stdworker.errors` is the tree."""

import re

from stdworker import errors


def drawn() -> dict[str, str]:
    """Class → parent, as the docstring draws it."""
    stack: dict[int, str] = {}
    parents: dict[str, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"^    ([│├└─ ]*)([A-Z]\w+)\s", line)
        if match:
            depth = len(match.group(1)) // 4
            stack[depth] = match.group(2)
            parents[match.group(2)] = stack.get(depth - 1, "Exception")
    return parents


def test_the_drawn_tree_is_the_tree_of_classes():
    real = {c.__name__: c.__bases__[0].__name__ for c in vars(errors).values() if isinstance(c, type)}
    real.pop("Any", None)
    real.pop("Iterable", None)
    assert drawn() == real


def test_every_class_has_a_stable_code_of_its_own():
    classes = [c for c in vars(errors).values() if isinstance(c, type) and issubclass(c, errors.StdworkerError)]
    codes = [c.code for c in classes]
    assert len(set(codes)) == len(codes)
    assert all(re.fullmatch(r"[a-z][a-z_]*", code) for code in codes)


def test_an_error_reads_as_message_then_hint():
    assert str(errors.Terminal("no such bucket", hint="create it first")) == "no such bucket (create it first)"


def test_a_misspelt_key_is_answered_with_the_nearest():
    assert "did you mean 'command'?" in str(errors.ConfigKeyError("comand", ["command", "args"]))
