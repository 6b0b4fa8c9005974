"""Where in a text a member of a document stands: the line, for whoever has to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePath

import yaml

from stdworker.model.pointer import parse
from stdworker.model.whole import whole

__all__ = ["line_of"]

_Loader: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def line_of(text: bytes, name: str, number: int, pointer: str) -> int | None:
    """The line of what the pointer names in the document `number` of a text, counted from 0 as they are read.

    Of its nearest parent that is there if it is missing; None where that can't be told, as in TOML.
    """
    if PurePath(name).suffix.lower() == ".toml":
        return None
    try:
        for at, node in enumerate(_nodes(text.decode("utf-8-sig"))):
            if at == number:
                return int(_mark(node, parse(pointer)).line) + 1
    except (yaml.YAMLError, ValueError, RecursionError):
        pass
    return None


def _nodes(text: str) -> Iterator[yaml.Node]:
    """What each document is made of; a list at the top holds several. JSON is read as the YAML that it is."""
    for node in yaml.compose_all(text, Loader=_Loader):
        if isinstance(node, yaml.SequenceNode):
            yield from node.value
        elif not isinstance(node, yaml.ScalarNode) or node.value:
            yield node


def _mark(node: yaml.Node, tokens: list[str]) -> yaml.Mark:
    mark = node.start_mark
    for token in tokens:
        index = whole(token, len(node.value) - 1) if isinstance(node, yaml.SequenceNode) else None
        if index is not None:
            node = node.value[index]
            mark = node.start_mark
            continue
        pairs = node.value if isinstance(node, yaml.MappingNode) else []
        found = [(key, value) for key, value in pairs if key.value == token]
        if not found:
            break
        key, node = found[-1]
        mark = key.start_mark
    return mark
