"""Misspelt keywords are found wherever a schema may hold another; names and data are none."""

import pytest

from stdworker.testing.conformance.keywords import misspelt


@pytest.mark.parametrize(
    ("schema", "found"),
    [
        ({"requird": ["a"]}, [("/requird", "required")]),
        ({"properties": {"a": {"typ": "string"}}}, [("/properties/a/typ", "type")]),
        ({"$defs": {"a/b": {"minLenght": 1}}}, [("/$defs/a~1b/minLenght", "minLength")]),
        ({"anyOf": [{}, {"enums": [1]}]}, [("/anyOf/1/enums", "enum")]),
        ({"items": {"additionalProperty": False}}, [("/items/additionalProperty", "additionalProperties")]),
    ],
)
def test_a_misspelt_keyword_is_found_with_its_place(schema, found):
    assert list(misspelt(schema)) == found


@pytest.mark.parametrize(
    "schema",
    [
        None,
        True,
        {"type": "object", "properties": {"typ": {"type": "string"}, "requird": True}},
        {"x-order": 1, "nullable": True, "example": 1},
        {"enum": [{"typ": 1}], "default": {"requird": 1}, "const": {"itms": 1}},
    ],
)
def test_names_of_properties_own_keywords_and_data_are_not_taken_for_misspelt(schema):
    assert list(misspelt(schema)) == []
