"""JSON schema -> GBNF grammar, so that every engine is constrained in the same way. Pure.

Covers what localmem's prompts use: objects whose properties come in their order, arrays, strings,
numbers, booleans, null, enum, const, anyOf and oneOf. Anything else is refused, not ignored.
The JSON is written on one line with one space after "," and ":", which leaves a small model
nothing to decide about layout.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from localmem.errors import UsageError
from localmem.ports import JsonSchema

_CHAR = r"""char ::= [^"\\\x00-\x1F\x7F] | "\\" (["\\/bfnrt] | "u" [0-9a-fA-F]{4})"""
_LONGEST_COUNTED = 1000
"""Counted repetitions make the grammar grow with the count; longer strings are left open."""

_PRIMITIVES = {
    "number": r""" "-"? ("0" | [1-9] [0-9]{0,14}) ("." [0-9]{1,15})?""".strip(),
    "integer": r""" "-"? ("0" | [1-9] [0-9]{0,14})""".strip(),
    "boolean": '"true" | "false"',
    "null": '"null"',
}
_KNOWN_KEYS = frozenset(
    {
        "type", "properties", "required", "items", "enum", "const", "anyOf", "oneOf",
        "minItems", "maxItems", "minLength", "maxLength", "additionalProperties",
        "title", "description", "default", "examples", "$schema",
    }
)  # fmt: skip


def schema_to_gbnf(schema: JsonSchema) -> str:
    """A grammar whose root matches exactly the JSON values of the schema, written on one line.

    Raises:
        UsageError: the schema uses something that is not covered; names the place.
    """
    rules = _Rules()
    root = rules.expression(schema, "root", "$")
    return "\n".join([f"root ::= {root}", *rules.lines])


def one_grammar(schema: JsonSchema | None, grammar: str | None) -> str | None:
    """The grammar of a call, from its schema or as given; None if the reply is free."""
    if schema is not None and grammar is not None:
        raise UsageError("a reply is constrained by a schema or by a grammar, not by both")
    return schema_to_gbnf(schema) if schema is not None else grammar


class _Rules:
    """Named rules collected while a schema is walked."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self._has_char = False

    def expression(self, schema: Mapping[str, Any], name: str, where: str) -> str:
        """The right-hand side for one schema; sub-schemas become rules named after their place."""
        unknown = set(schema) - _KNOWN_KEYS
        if unknown:
            raise UsageError(f"schema at {where}: {sorted(unknown)} cannot become a grammar")
        if "const" in schema:
            return _literal(json.dumps(schema["const"], ensure_ascii=False))
        if "enum" in schema:
            values = (json.dumps(value, ensure_ascii=False) for value in schema["enum"])
            return " | ".join(_literal(value) for value in values)
        for key in ("anyOf", "oneOf"):
            if key in schema:
                return self._alternatives(schema[key], name, where)
        return self._typed(schema, name, where)

    def _typed(self, schema: Mapping[str, Any], name: str, where: str) -> str:
        kind = schema.get("type", "object" if "properties" in schema else None)
        if isinstance(kind, list):
            return self._alternatives([{**schema, "type": one} for one in kind], name, where)
        if kind == "object":
            return self._object(schema, name, where)
        if kind == "array":
            return self._array(schema, name, where)
        if kind == "string":
            return self._string(schema)
        if kind in _PRIMITIVES:
            return _PRIMITIVES[kind]
        raise UsageError(f"schema at {where}: type {kind!r} cannot become a grammar")

    def _rule(self, schema: Mapping[str, Any], name: str, where: str) -> str:
        self.lines.append(f"{name} ::= {self.expression(schema, name, where)}")
        return name

    def _alternatives(self, options: Sequence[Mapping[str, Any]], name: str, where: str) -> str:
        return " | ".join(
            self._rule(option, f"{name}-o{number}", f"{where}|{number}")
            for number, option in enumerate(options)
        )

    def _object(self, schema: Mapping[str, Any], name: str, where: str) -> str:
        """All properties in their order; those not `required` may be left out from the end on."""
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = set(schema.get("required", properties))
        if not required <= set(properties):
            raise UsageError(f"schema at {where}: required names a property that is not there")
        pairs = [
            f"{_literal(json.dumps(key, ensure_ascii=False) + ': ')} "
            + self._rule(value, f"{name}-p{number}", f"{where}.{key}")
            for number, (key, value) in enumerate(properties.items())
        ]
        is_required = [key in required for key in properties]
        if False in is_required and True in is_required[is_required.index(False) :]:
            raise UsageError(f"schema at {where}: optional properties must come last")
        return f'"{{" {_comma_list(pairs, is_required)} "}}"'

    def _array(self, schema: Mapping[str, Any], name: str, where: str) -> str:
        if "items" not in schema:
            raise UsageError(f"schema at {where}: an array needs items")
        item = self._rule(schema["items"], f"{name}-i", f"{where}[]")
        least, most = schema.get("minItems", 0), schema.get("maxItems")
        if most == 0:
            return '"[" "]"'
        more = f'(", " {item}){{{max(least - 1, 0)},{"" if most is None else most - 1}}}'
        filled = f"{item} {more}"
        return f'"[" {filled if least else f"({filled})?"} "]"'

    def _string(self, schema: Mapping[str, Any]) -> str:
        if not self._has_char:
            self.lines.append(_CHAR)
            self._has_char = True
        least, most = schema.get("minLength", 0), schema.get("maxLength")
        if most is not None and most > _LONGEST_COUNTED:
            most = None
        if most is None and not least:
            return r'"\"" char* "\""'
        return rf'"\"" char{{{least},{"" if most is None else most}}} "\""'


def _comma_list(pairs: Sequence[str], is_required: Sequence[bool]) -> str:
    """Pairs joined by ", " where a tail of optional ones may be missing."""
    text = ""
    for number in range(len(pairs) - 1, -1, -1):
        here = pairs[number] if number == 0 else f'", " {pairs[number]}'
        inner = f"{here} {text}".rstrip()
        text = inner if is_required[number] else f"({inner})?"
    return text


def _literal(text: str) -> str:
    """A GBNF string that matches exactly this text."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
