"""Why a response was refused, in a sentence.

The types that read responses refuse quickly but say little; the JSON Schema says it well, at seconds a megabyte. So
the schema is asked about the part that is wrong only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import msgspec

from stdworker import protocol_files
from stdworker.model.json_text import elements, escape_token, join_elements, join_members, loads, members

VALUE_CHARACTERS_MAX = 200  # a longer value is named by its type only

Items = Mapping[str, "msgspec.json.Decoder[Any]"]


@cache
def _schema() -> Any:
    from jsonschema import Draft202012Validator

    return Draft202012Validator(json.loads(protocol_files.read("stdio/v1/response.schema.json")))


def explain(document: bytes, refused: msgspec.ValidationError, items: Items) -> str:
    """What is wrong with a response that its types refused: path, what was expected, what came.

    `items` are the lists of a response, with what decodes an item of each.
    """
    suspect, place = _suspect(document, items)
    errors = sorted(_schema().iter_errors(loads(suspect)), key=lambda error: [str(p) for p in error.absolute_path])
    return _sentence(errors[0], place) if errors else str(refused).replace("`", "").replace("$", "")


def _suspect(document: bytes, lists: Items) -> tuple[bytes, tuple[str, int] | None]:
    """The part of a document to ask the schema about, which takes seconds a megabyte.

    It is the first item of a list that is refused, alone, and the place where it stood; or all that is in no list.
    """
    parts = members(document)
    if parts is None:
        return document, None
    for name, decoder in lists.items():
        items = elements(parts.get(name, b"null"))
        for index, item in enumerate(items or ()):
            try:
                decoder.decode(item)
            except msgspec.ValidationError:
                return join_members({name: join_elements([item])}), (name, index)
        if items:
            del parts[name]
    return join_members(parts), None


def _sentence(error: Any, place: tuple[str, int] | None) -> str:
    steps = [*error.absolute_path]
    if place is not None:
        steps[:2] = place
    path = "".join(f"/{escape_token(str(step))}" for step in steps)
    return f"{path or 'the document'}: expected {_expected(error)}, got {_got(error)}"


def _expected(error: Any) -> str:
    wanted = error.validator_value
    match error.validator:
        case "type":
            return " or ".join(wanted) if isinstance(wanted, list) else str(wanted)
        case "required":
            missing = [name for name in wanted if name not in error.instance]
            return f"the member {missing[0]!r}"
        case "enum":
            return f"one of {', '.join(map(json.dumps, wanted))}"
        case "minimum":
            return f"{wanted} or more"
        case "maximum":
            return f"{wanted} or less"
        case "minLength":
            return "a text that is not empty"
        case "pattern":
            return f"a text that matches {wanted}"
        case _:
            return f"{error.validator} {json.dumps(wanted)}"


_TYPES: Sequence[tuple[type, str]] = (
    (bool, "boolean"),
    (dict, "object"),
    (list, "array"),
    (str, "string"),
    (int, "integer"),
    (float, "number"),
)


def _got(error: Any) -> str:
    value = error.instance
    if error.validator == "required":
        return f"an object with {', '.join(sorted(value)) or 'no members'}"
    name = next((name for kind, name in _TYPES if isinstance(value, kind)), "null")
    text = json.dumps(value)
    return name if isinstance(value, dict | list) or len(text) > VALUE_CHARACTERS_MAX else f"{name} {text}".strip()
