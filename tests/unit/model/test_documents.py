"""Text that people write becomes verbatim JSON, with its place."""

import pytest

from stdworker.errors import ConfigError
from stdworker.model.documents import Document, parse_documents
from stdworker.model.json_text import RawJson


def raws(text: str, name: str = "file.yaml") -> list[bytes]:
    return [bytes(document.raw) for document in parse_documents(text.encode(), name)]


def test_json_is_sliced_not_re_encoded():
    assert raws('{"a": 1.0, "b":123456789012345678901234567890}', "f.json") == [
        b'{"a": 1.0, "b":123456789012345678901234567890}'
    ]


def test_json_documents_may_follow_each_other_and_know_their_line():
    assert parse_documents(b'{"a":1}\n\n{"b":2}\n', "f.json") == [
        Document(b'{"a":1}', "f.json:1"),
        Document(b'{"b":2}', "f.json:3"),
    ]


def test_a_list_at_the_top_holds_several_documents():
    assert parse_documents(b"- {a: 1}\n- {b: 2}\n", "f.yaml") == [
        Document(b'{"a":1}', "f.yaml:1 item 1"),
        Document(b'{"b":2}', "f.yaml:1 item 2"),
    ]


def test_yaml_documents_know_their_line_and_empty_ones_are_skipped():
    text = b"# about\n---\na: 1\n---\n---\nb: 2\n"
    assert [d.where for d in parse_documents(text, "f.yaml")] == ["f.yaml:3", "f.yaml:6"]


@pytest.mark.parametrize(
    ("scalar", "written"),
    [
        ("1.0", "1.0"),
        ("1e3", "1e3"),
        (".5", "0.5"),
        ("-5.", "-5.0"),
        ("01.5", "1.5"),
        ("+7", "7"),
        ("0x1f", "31"),
        ("0o17", "15"),
        ("18446744073709551617", "18446744073709551617"),
        ("true", "true"),
        ("~", "null"),
        ("no", '"no"'),
        ("on", '"on"'),
        ("12:30:45", '"12:30:45"'),
        ("2001-12-14", '"2001-12-14"'),
        ("1_000", '"1_000"'),
        ("'1'", '"1"'),
        ("''", '""'),
        ("!!str 5", '"5"'),
    ],
)
def test_a_yaml_scalar_is_what_the_core_schema_of_yaml_1_2_says(scalar, written):
    assert raws(f"a: {scalar}") == [f'{{"a":{written}}}'.encode()]


def test_yaml_anchors_and_merge_keys_are_expanded_and_own_keys_win():
    assert raws("base: &b {x: 1, y: 2}\nuse: {<<: *b, y: 3}") == [b'{"base":{"x":1,"y":2},"use":{"x":1,"y":3}}']


def test_yaml_ends_lines_where_yaml_1_2_does():
    text = "a: \u2028b\x85c\nd: 'e \u2029 f'\n'g\x85': |\n  h\u2028i\n"
    assert [raw.value() for raw in map(RawJson, raws(text))] == [
        {"a": "\u2028b\x85c", "d": "e \u2029 f", "g\x85": "h\u2028i\n"}
    ]


def test_a_pair_of_escapes_in_yaml_is_refused_with_what_to_write():
    with pytest.raises(ConfigError, match="write the character itself"):
        parse_documents(rb'a: "\ud83d\ude00"', "f.yaml")


def test_toml_numbers_keep_their_spelling_and_instants_become_text():
    assert raws("a = 1_000\nb = 1.50\nc = 1979-05-27\n[t]\nd = [true]", "f.toml") == [
        b'{"a":1000,"b":1.50,"c":"1979-05-27","t":{"d":[true]}}'
    ]


def test_text_without_a_known_suffix_is_told_by_its_first_character():
    assert raws('{"a": 1.0}', "-") == [b'{"a": 1.0}']
    assert raws("a: 1", "-") == [b'{"a":1}']


@pytest.mark.parametrize(
    ("text", "name", "complaint"),
    [
        ('{"a":\n nope}', "f.json", "f.json:2:2: not JSON"),
        ('{"a": NaN}', "f.json", "f.json:1: /a: NaN is not a JSON number"),
        ('{"a":1,"a":2}', "f.json", "f.json:1: /a: the key appears twice"),
        ("mode: 0644", "f.yaml", "f.yaml:1:7: 0644 is octal to some and decimal to others"),
        ("a: 1\na: 2", "f.yaml", "f.yaml:2:1: the key 'a' appears twice"),
        ("a: [1", "f.yaml", "f.yaml:2:1: not YAML"),
        ("a: .inf", "f.yaml", "f.yaml:1:4: .inf is not a JSON number"),
        ("a: !thing 1", "f.yaml", "f.yaml:1:4: '1' with the tag '!thing' is not plain data"),
        ("a: !!int x", "f.yaml", "is not plain data"),
        ("? [1]\n: 2", "f.yaml", "f.yaml:1:3: a key must be a text"),
        ("a: {<<: 1}", "f.yaml", "'<<' merges mappings only"),
        ("a: &a [*a]", "f.yaml", "nested deeper than 100"),
        ("a: \x07", "f.yaml", "f.yaml: not YAML"),
        ("a = ", "f.toml", "f.toml: not TOML"),
        ("a: 0x" + "f" * 4_000, "f.yaml", "f.yaml: can't be written as JSON: a number of more than 1000 characters"),
        ("a = 0x" + "f" * 4_000, "f.toml", "f.toml: can't be written as JSON: a number of more than 1000 characters"),
        ("a = " + "9" * 5_000, "f.toml", "f.toml: not TOML: a number of too many digits"),
        ('{"a": "\x01"}', "f.json", "f.json:1:8: not JSON: invalid control character"),
        ("a = inf", "f.toml", "f.toml:1: /a: inf is not a JSON number"),
        ("[" * 50_000, "f.json", "f.json is nested deeper than 100"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text, name, complaint):
    with pytest.raises(ConfigError) as caught:
        parse_documents(text.encode(), name)
    assert complaint in caught.value.message


def test_a_few_lines_of_yaml_can_not_stand_for_billions_of_values():
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 8)]
    with pytest.raises(ConfigError, match="more than 1,000,000 values"):
        parse_documents("\n".join(lines).encode(), "f.yaml")


def test_a_few_lines_of_yaml_can_not_stand_for_billions_of_characters():
    text = f"a: &a {'x' * 1_000_000}\nb: [{', '.join(['*a'] * 300)}]"
    with pytest.raises(ConfigError, match="more than 268,435,456 characters"):
        parse_documents(text.encode(), "f.yaml")


def test_bytes_that_are_not_utf_8_are_refused():
    with pytest.raises(ConfigError, match=r"f\.yaml is not UTF-8: byte 3 is 0xff"):
        parse_documents(b"a: \xff", "f.yaml")


@pytest.mark.parametrize(
    ("text", "advice"),
    [("a:\n\tb: 1", "indent with blanks, not tabs"), ("a: x\n b: 1", "is it indented as the lines beside it")],
)
def test_what_yaml_says_in_its_own_words_comes_with_advice(text, advice):
    with pytest.raises(ConfigError) as refused:
        parse_documents(text.encode(), "f.yaml")

    assert refused.value.hint.startswith(advice)


@pytest.mark.parametrize(
    ("text", "documents"),
    [
        ("{kind: leaf, n: 1.0}", ['{"kind":"leaf","n":1.0}']),
        ("{kind: a}\n---\nkind: b\n", ['{"kind":"a"}', '{"kind":"b"}']),
        ("[{kind: a}, {kind: b}]", ['{"kind":"a"}', '{"kind":"b"}']),
        ('{"a": 1}\n{"b": 2}\n', ['{"a": 1}', '{"b": 2}']),
    ],
)
def test_without_a_suffix_flow_style_is_yaml_where_it_is_no_json(text, documents):
    assert [bytes(document.raw).decode() for document in parse_documents(text.encode(), "-")] == documents


def test_what_is_neither_json_nor_yaml_is_told_as_json():
    with pytest.raises(ConfigError, match="-:1:10: not JSON"):
        parse_documents(b'{"a": 1, b', "-")
