"""Documents that people write: JSON, YAML and TOML text becomes verbatim JSON, with the place it came from.

Numbers stay as they are written (`1.0` stays `1.0`, integers of any size stay exact). YAML is read by the core
schema of YAML 1.2: `no` and `on` are texts, `12:30` is a text, and `0644`, which some read as octal and others as
decimal, is refused. A list at the top level holds several documents, like several documents in one text.
"""

from __future__ import annotations

import datetime
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring_ascii
from pathlib import Path, PurePath
from typing import Any

import yaml

from stdworker.errors import ConfigError, JsonError
from stdworker.model.json_text import DEPTH_MAX, RawJson, check, dumps, elements

SUFFIXES = (".json", ".jsonl", ".ndjson", ".yaml", ".yml", ".toml")
FILE_BYTES_MAX = 256 << 20
VALUES_MAX = 1_000_000  # of one YAML document with its aliases expanded: a few lines can stand for billions
CHARACTERS_MAX = 256 << 20  # of their texts, counted likewise


@dataclass(frozen=True, slots=True)
class Document:
    """One document. `where` is `name:line`, the place where it begins."""

    raw: RawJson
    where: str


def read_source(name: str) -> bytes:
    """All of a file, or of stdin for `-`. Raises OSError, and ConfigError when it is too much, as /dev/zero is."""
    if name == "-":
        text = sys.stdin.buffer.read(FILE_BYTES_MAX + 1) if sys.stdin else b""  # None: closed by who started us
    else:
        with Path(name).open("rb") as file:
            text = file.read(FILE_BYTES_MAX + 1)
    if len(text) > FILE_BYTES_MAX:
        raise ConfigError(f"{name} is larger than {FILE_BYTES_MAX >> 20} MiB")
    return text


def parse_documents(text: bytes, name: str) -> list[Document]:
    """Read all documents of a text.

    The suffix of `name` tells the language; without one of `SUFFIXES` a text that begins with `{` or `[` is JSON,
    or else YAML in flow style, and any other is YAML. Empty YAML documents are skipped. Raises ConfigError with
    place and reason.
    """
    try:
        decoded = text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{name} is not UTF-8: byte {error.start} is {text[error.start]:#04x}") from None
    try:
        found = [(line, _accept(raw, f"{name}:{line}")) for line, raw in _reader(decoded, name)(decoded, name)]
    except RecursionError:
        raise ConfigError(f"{name} is nested deeper than {DEPTH_MAX}") from None
    except JsonError as error:
        raise ConfigError(f"{name}: {error.message}", code=error.code) from None
    return [document for line, raw in found for document in _flat(raw, f"{name}:{line}")]


_Reader = Callable[[str, str], Iterator[tuple[int, str]]]


def _reader(text: str, name: str) -> _Reader:
    suffix = PurePath(name).suffix.lower()
    if suffix not in SUFFIXES:
        return _flow if text.lstrip()[:1] in ("{", "[") else _yaml
    return {".toml": _toml, ".yaml": _yaml, ".yml": _yaml}.get(suffix, _json)


def _accept(raw: str, where: str) -> RawJson:
    try:
        return check(raw.encode("utf-8"))
    except JsonError as error:
        raise ConfigError(f"{where}: {error.message}", code=error.code) from None
    except UnicodeEncodeError:
        raise ConfigError(f"{where}: a lone surrogate is not text", code="lone_surrogate") from None


def _flat(raw: RawJson, where: str) -> Iterator[Document]:
    items = elements(raw) if raw.startswith(b"[") else None
    if items is None:
        yield Document(raw, where)
        return
    for number, item in enumerate(items, 1):
        yield Document(item, f"{where} item {number}")


def _flow(text: str, name: str) -> Iterator[tuple[int, str]]:
    """JSON, or what only YAML can make something of. Of what is neither, JSON's reason is told."""
    try:
        return iter(list(_json(text, name)))
    except ConfigError as error:
        try:
            return iter(list(_yaml(text, name)))
        except ConfigError:
            raise error from None


# ---- JSON: slices of the text itself ----

_SCANNER = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=str)
_BLANK = re.compile(r"[ \t\r\n]*")


def _json(text: str, name: str) -> Iterator[tuple[int, str]]:
    line, at = 1, 0
    while (start := _skip_blank(text, at)) < len(text):
        try:
            _, end = _SCANNER.raw_decode(text, start)
        except json.JSONDecodeError as error:
            raise ConfigError(f"{name}:{error.lineno}:{error.colno}: not JSON: {_reason(error)}") from None
        line += text.count("\n", at, start)
        yield line, text[start:end]
        line += text.count("\n", start, end)
        at = end


def _reason(error: json.JSONDecodeError) -> str:
    return error.msg.lower().removesuffix(" at").removesuffix(" starting")


def _skip_blank(text: str, at: int) -> int:
    match = _BLANK.match(text, at)
    return match.end() if match else at


# ---- TOML ----


class _Written(str):
    """A number as JSON spells it."""

    __slots__ = ()


_TOML_REASON = re.compile(r"Exceeds the limit .*", re.DOTALL)  # Python's own advice is no help to who wrote the file


def _toml(text: str, name: str) -> Iterator[tuple[int, str]]:
    try:
        table = tomllib.loads(text, parse_float=lambda number: _Written(number.replace("_", "").lstrip("+")))
    except ValueError as error:
        raise ConfigError(f"{name}: not TOML: {_TOML_REASON.sub('a number of too many digits', str(error))}") from None
    yield 1, _encode(table)


def _encode(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ",".join(f"{encode_basestring_ascii(key)}:{_encode(v)}" for key, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_encode, value)) + "]"
    if isinstance(value, _Written):
        return str(value)
    if isinstance(value, datetime.datetime | datetime.date | datetime.time):
        value = value.isoformat()
    return dumps(value).decode("ascii")


# ---- YAML ----

_TAG = "tag:yaml.org,2002:"
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_AMBIGUOUS = re.compile(r"[-+]?0[0-9_]+")
_RADIX = re.compile(r"0x[0-9a-fA-F]+|0o[0-7]+")
_FLOAT = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(?:\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_NOT_FINITE = re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")
_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_OLD_LINE_BREAKS = "\x85\u2028\u2029"
_PRIVATE_USE = range(0xE000, 0xF900)
_NULLS = ("", "~", "null", "Null", "NULL")


_NO_PAIRS = r"write the character itself, or \U and eight digits; YAML has no pairs of \u"
_YAML_HINTS = {
    "found invalid Unicode character escape code": _NO_PAIRS,
    "found character that cannot start any token": "indent with blanks, not tabs; quote a text that begins with @ or `",
    "mapping values are not allowed in this context": "is it indented as the lines beside it, a text with ': ' quoted?",
}


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Composes nodes only: plain scalars keep their text, their type is decided below."""

    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (the library's own attribute)


_Loader.add_implicit_resolver(_TAG + "plain", re.compile(r""), None)


def _yaml(text: str, name: str) -> Iterator[tuple[int, str]]:
    shield = _shield(text)
    restore = {placeholder: character for character, placeholder in shield.items()}
    try:
        for node in yaml.compose_all(text.translate(shield), Loader=_Loader):
            value = _Composer(name, restore).value(node, 0)
            if value is not None:
                yield node.start_mark.line + 1, _encode(value)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark else name
        problem = str(error.problem or error.context)
        raise ConfigError(f"{place}: not YAML: {problem}", hint=_YAML_HINTS.get(problem, "")) from None
    except yaml.YAMLError as error:
        raise ConfigError(f"{name}: not YAML: {' '.join(str(error).split())}") from None


def _shield(text: str) -> dict[int, int]:
    """Placeholders for what ends a line in YAML 1.1, and so for the library, but is an ordinary character in 1.2."""
    present = [character for character in _OLD_LINE_BREAKS if character in text]
    unused = (point for point in _PRIVATE_USE if chr(point) not in text)
    return {ord(character): next(unused, ord(character)) for character in present}


class _Composer:
    """Turns the nodes of one document into plain values, aliases expanded within bounds."""

    def __init__(self, name: str, restore: dict[int, int]) -> None:
        self.name = name
        self.restore = restore
        self.count = 0
        self.characters = 0

    def value(self, node: yaml.Node, depth: int) -> Any:
        self.count += 1
        if depth > DEPTH_MAX:
            raise self.refuse(node, f"nested deeper than {DEPTH_MAX}")
        if self.count > VALUES_MAX:
            raise self.refuse(node, f"more than {VALUES_MAX:,} values, aliases counted each time")
        if isinstance(node, yaml.MappingNode) and node.tag == _TAG + "map":
            return self.mapping(node, depth)
        if isinstance(node, yaml.SequenceNode) and node.tag == _TAG + "seq":
            return [self.value(item, depth + 1) for item in node.value]
        if isinstance(node, yaml.ScalarNode):
            return self.scalar(node)
        raise self.refuse(node, f"the tag {node.tag!r} is not plain data")

    def mapping(self, node: yaml.MappingNode, depth: int) -> dict[str, Any]:
        merged: dict[str, Any] = {}
        own: dict[str, Any] = {}
        for key_node, value_node in node.value:
            value = self.value(value_node, depth + 1)
            if key_node.tag == _TAG + "plain" and key_node.value == "<<":
                for source in reversed(value if isinstance(value, list) else [value]):
                    merged.update(self.mergeable(source, value_node))
                continue
            key = self.key(key_node)
            if key in own:
                raise self.refuse(key_node, f"the key {key!r} appears twice")
            own[key] = value
        return merged | own

    def mergeable(self, source: Any, node: yaml.Node) -> dict[str, Any]:
        if not isinstance(source, dict):
            raise self.refuse(node, "'<<' merges mappings only")
        return source

    def key(self, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode):
            raise self.refuse(node, "a key must be a text")
        return self.text(node)

    def scalar(self, node: yaml.ScalarNode) -> Any:
        if node.tag == _TAG + "str":
            return self.text(node)
        value = self.plain(node)
        kind = {bool: "bool", type(None): "null", str: "str"}.get(type(value), "number")
        wanted = {_TAG + "int": "number", _TAG + "float": "number", _TAG + "bool": "bool", _TAG + "null": "null"}
        if node.tag != _TAG + "plain" and wanted.get(node.tag) != kind:
            raise self.refuse(node, f"{node.value!r} with the tag {node.tag!r} is not plain data")
        return value

    def text(self, node: yaml.ScalarNode) -> str:
        self.characters += len(node.value)
        if self.characters > CHARACTERS_MAX:
            raise self.refuse(node, f"more than {CHARACTERS_MAX:,} characters, aliases counted each time")
        return str(node.value).translate(self.restore) if self.restore else str(node.value)

    def plain(self, node: yaml.ScalarNode) -> Any:
        text = self.text(node)
        if text in _NULLS:
            return None
        if text in _BOOLEANS:
            return _BOOLEANS[text]
        if _NOT_FINITE.fullmatch(text):
            raise self.refuse(node, f"{text} is not a JSON number")
        if _AMBIGUOUS.fullmatch(text):
            raise self.refuse(node, f'{text} is octal to some and decimal to others; write "{text}" for a text')
        if _INTEGER.fullmatch(text):
            return _Written(text.lstrip("+"))
        if _RADIX.fullmatch(text):
            return int(text, 0)
        match = _FLOAT.fullmatch(text)
        return _Written(_json_float(text, *match.groups(""))) if match else text

    def refuse(self, node: yaml.Node, reason: str) -> ConfigError:
        mark = node.start_mark
        return ConfigError(f"{self.name}:{mark.line + 1}:{mark.column + 1}: {reason}")


def _json_float(text: str, digits: str, exponent: str) -> str:
    """`.5`, `5.` and `05.0` are spelled as JSON wants them; all other floats stay as they are."""
    whole, point, fraction = digits.partition(".")
    sign = "-" if text.startswith("-") else ""
    return sign + (whole.lstrip("0") or "0") + (f".{fraction or '0'}" if point else "") + exponent
