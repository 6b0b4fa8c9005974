"""Specs of every kind: none, empty, huge, and with text and numbers that careless programs change."""

from __future__ import annotations

import re
from typing import Any

from stdworker.model.json_text import RawJson, dumps
from stdworker.testing.conformance.exchange import Ending, Exchange
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.samples import NoSample, first_violation, fits, place, sample
from stdworker.testing.conformance.verdict import Finding, Skipped, Verdict, case, failed, passed, warned

HUGE_BYTES = 1 << 20
UNICODE = (
    "日本 \N{GRINNING FACE} e\N{COMBINING ACUTE ACCENT} \N{HEBREW LETTER ALEF}\N{RIGHT-TO-LEFT MARK} \u2028 \u0085 ü"
)
QUOTING = "a \"quoted\" 'text' \\ back\\nslash $(expr 6553 \\* 7) `expr 6553 \\* 7` %s {x} $HOME * ; \t\n end"
RUN = str(6553 * 7)  # comes back only if a command in QUOTING was run
EXACT_NUMBERS = (2**53 + 1, 2**64, 123456789012345678901234567890, -(2**63) - 1)
SPELLED_NUMBER = 1234567.0
OTHER_TYPES: tuple[Any, ...] = ("text", 7, [1], True)

_BEGIN, _END = "checkbegin", "checkend"
_MARKED = re.compile(f"{_BEGIN}(.*?){_END}", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?")
_SLUG = re.compile(r"[\w\s.-]*", re.ASCII)
_GARBLED = (
    "\N{REPLACEMENT CHARACTER}",
    "?",
    UNICODE[0].encode().decode("latin-1"),
)  # not sent; the last is UTF-8 taken for Latin-1


@case(
    "empty-spec",
    "it stands an empty spec",
    why="{} is the spec of a resource that says nothing; it must be served with defaults, or refused.",
    advice="Give every member of the spec a default, or list those that must be there as required in spec_schema.",
    needs_success=False,
)
async def empty_spec(lab: Lab) -> Finding:
    return _sound(await lab.ask(lab.request("empty-spec", _allowed(lab, {}))))


@case(
    "absent-spec",
    "it stands a request without spec",
    why="A resource may have no spec at all; then the request has no member spec.",
    advice="Read spec as {} when the request has none, or declare a spec_schema of type object.",
    needs_success=False,
)
async def absent_spec(lab: Lab) -> Finding:
    _allowed(lab, None)
    return _sound(await lab.ask(lab.request("absent-spec", no_spec=True)))


@case(
    "other-types",
    "it refuses a spec of another type for good",
    why="Without a schema nothing keeps such a spec away. A crash is tried again and again, for nothing.",
    advice="Declare a spec_schema of type object; or check the spec, exit with 2 or answer error with terminal true.",
    needs_success=False,
)
async def other_types(lab: Lab) -> Finding:
    allowed = [value for value in OTHER_TYPES if fits(lab.subject.spec_schema, value)]
    if not allowed:
        raise Skipped("spec_schema keeps them away")
    return await _worst(lab, "other-types", [dumps(value) for value in allowed])


@case(
    "full-spec",
    "it takes every spec that was given, or that its schema describes",
    why="The schema is a promise: what it lets through must work.",
    advice="Make spec_schema as strict as the program (enum, pattern, minimum), or the program as lenient.",
)
async def full_spec(lab: Lab) -> Finding:
    schema = lab.subject.spec_schema
    if lab.subject.specs:
        return await _given_specs(lab)
    if schema is None:
        raise Skipped("there is no spec_schema, and no --spec was given")
    try:
        spec = dumps(sample(schema, full=True))
    except NoSample:
        raise Skipped("nobody can guess a spec with every property that the schema allows") from None
    return _sound(await lab.ask(lab.request("full-spec", spec)))


async def _given_specs(lab: Lab) -> Finding:
    for number, spec in enumerate(lab.subject.specs, 1):
        violation = first_violation(lab.subject.spec_schema, spec.value())
        if violation:
            return failed(f"the spec_schema refuses spec {number}, so it would never be sent: {violation}")
        found = await lab.ask(lab.request(f"full-spec-{number}", spec))
        if found.ending is not Ending.SUCCESS:
            return failed(str(found), found)
    return passed()


@case(
    "huge-spec",
    "it takes a spec of a megabyte",
    why="Pipes hold 64 KiB and arguments 128 KiB: who answers before all is read, or passes the spec on, fails.",
    advice="Read the whole request before you answer; hand large values on by stdin or files, never as arguments.",
    needs_success=False,
)
async def huge_spec(lab: Lab) -> Finding:
    return _sound(await lab.ask(lab.request("huge-spec", _with_text(lab, "x" * HUGE_BYTES))))


@case(
    "unicode",
    "text of every script comes back as it was",
    why="Names of people and places are text; a program that reads or writes another encoding than UTF-8 garbles them.",
    advice="Read and write UTF-8, and build JSON with a JSON library. A line ends at LF only, not at U+2028 or U+0085.",
    needs_success=False,
)
async def unicode_text(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("unicode", _with_text(lab, f"{_BEGIN}{UNICODE}{_END}")))
    return _text_kept(found, UNICODE)


@case(
    "quoting",
    "quotes, backslashes and shell characters come back as they were",
    why="A program that glues JSON or commands together from text breaks on the first quote, or runs what a spec says.",
    advice="Build JSON with a library (jq --arg, json.dumps, JSON.stringify); quote every variable, never use eval.",
    needs_success=False,
)
async def quoting(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("quoting", _with_text(lab, f"{_BEGIN}{QUOTING}{_END}")))
    if any(RUN in text for text in _kept(found)):
        return failed("a command inside the spec was run", found)
    return _text_kept(found, QUOTING)


@case(
    "numbers",
    "integers come back exact at any size",
    why="Ids, quotas and times in nanoseconds are larger than 2^53, where floating point loses the last digits.",
    advice=(
        "Use integers (python), a reader that keeps numbers as text (lossless-json), json.Number (go), jq 1.7; or"
        " declare a minimum and maximum within 2^53 in spec_schema, or carry such numbers as text."
    ),
    needs_success=False,
)
async def numbers(lab: Lab) -> Finding:
    worst = passed()
    for count, number in enumerate(EXACT_NUMBERS, 1):
        found = await lab.ask(lab.request(f"numbers-{count}", dumps(_placed(lab, number, ("integer", "number")))))
        changed = _changed(found, number)
        if changed:
            return failed(f"{number} came back as {changed}", found)
        worst = _worse(worst, _sound(found))
    return worst


@case(
    "number-spelling",
    "1.0 doesn't become 1",
    why="The engine compares statuses as they are written; to it 1.0 and 1 are different documents.",
    advice="Hardly ever worth a change: pass numbers through as text if a consumer cares.",
    needs_success=False,
)
async def number_spelling(lab: Lab) -> Finding:
    found = await lab.ask(lab.request("number-spelling", dumps(_placed(lab, SPELLED_NUMBER, ("number",)))))
    changed = _changed(found, SPELLED_NUMBER)
    return warned(f"{SPELLED_NUMBER} came back as {changed}", found) if changed else _sound(found)


# ---- making specs ----


def _allowed(lab: Lab, value: Any) -> RawJson:
    if not fits(lab.subject.spec_schema, value):
        raise Skipped("spec_schema keeps it away")
    return dumps(value)


def _placed(lab: Lab, value: Any, type_names: tuple[str, ...]) -> Any:
    try:
        return place(lab.subject.spec_schema, lab.subject.base_spec.value(), value, type_names=type_names)
    except NoSample:
        raise Skipped("spec_schema has no place for it") from None


def _with_text(lab: Lab, text: str) -> RawJson:
    return dumps(_placed(lab, text, ("string",)))


# ---- looking at what came ----


def _sound(found: Exchange) -> Finding:
    """An outcome or a refusal is right; a failure that is tried again for ever is not, and none of the rest."""
    match found.ending:
        case Ending.SUCCESS:
            return passed()
        case Ending.REFUSED:
            return passed(str(found))
        case Ending.FAILED:
            return warned(f"{found}; it would be tried again and again", found)
        case _:
            return failed(str(found), found)


_ORDER = (Verdict.PASS, Verdict.WARN, Verdict.FAIL)


def _worse(one: Finding, other: Finding) -> Finding:
    return max(one, other, key=lambda finding: _ORDER.index(finding.verdict))


async def _worst(lab: Lab, name: str, specs: list[RawJson]) -> Finding:
    worst = passed()
    for count, spec in enumerate(specs, 1):
        worst = _worse(worst, _sound(await lab.ask(lab.request(f"{name}-{count}", spec))))
        if worst.verdict is Verdict.FAIL:
            break
    return worst


def _documents(found: Exchange) -> list[RawJson]:
    """What the program has reported, document by document."""
    if found.response is None:
        return []
    outcome = found.response.outcome
    told = [outcome.status, outcome.output, *(child.spec for child in outcome.children)]
    told += [config.spec for config in outcome.configs]
    told.append([condition.message for condition in outcome.conditions])
    return [dumps(document) for document in told if document is not None]


def _kept(found: Exchange) -> list[str]:
    """What was reported of the marked text."""
    texts: list[str] = []
    for document in _documents(found):
        _collect(document.value(), texts)
    return [match for text in texts for match in _MARKED.findall(text)]


def _collect(value: Any, texts: list[str]) -> None:
    if isinstance(value, str):
        texts.append(value)
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _collect(inner, texts)


def _text_kept(found: Exchange, sent: str) -> Finding:
    """Garbled text is a failure, text with something missing a warning; a slug is what somebody wanted."""
    for text in _kept(found):
        told = f"the text came back as {text!r}"
        if any(sign in text for sign in _GARBLED):
            return failed(told, found)
        if text != sent:
            return passed(told) if _SLUG.fullmatch(text) else warned(f"{told}, it was {sent!r}", found)
    return _sound(found)


def _changed(found: Exchange, number: float) -> str:
    """The number among those reported that was this one once; "" when there is none."""
    for text in _NUMBER.findall(b" ".join(_documents(found)).decode()):
        if text != str(number) and abs(float(text) - float(number)) <= abs(float(number)) * 1e-9:
            return str(text)
    return ""


CASES = (
    empty_spec,
    absent_spec,
    other_types,
    full_spec,
    huge_spec,
    unicode_text,
    quoting,
    numbers,
    number_spelling,
)
