"""Spark types as small trees: from Spark's JSON, from a simpleString, and back to text.

The tree is the one form that everything below works on. Spark's own JSON (a DataFrame's schema
and the metadata of the parquet files it writes) is read without loss. A simpleString does not
quote the names of struct fields: one with `:` or `,` in it is read the shortest way that makes
sense, and one with `<` or `>` needs backticks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_JSON_NAMES = {
    "byte": "tinyint",
    "short": "smallint",
    "integer": "int",
    "long": "bigint",
    "null": "void",
    "timestamp_ltz": "timestamp",
}
_STORAGE_NAMES = {
    "tinyint": "int8",
    "smallint": "int16",
    "int": "int32",
    "bigint": "int64",
    "float": "float32",
    "double": "float64",
    "decimal": "decimal",
    "string": "string",
    "binary": "bytes",
    "boolean": "bool",
    "date": "date",
    "timestamp": "datetime64",
    "timestamp_ntz": "datetime64",
    "array": "list",
    "struct": "struct",
    "map": "map",
}
_KINDS = {
    **dict.fromkeys(
        ("tinyint", "smallint", "int", "bigint", "float", "double", "decimal"), "numeric"
    ),
    **dict.fromkeys(("date", "timestamp", "timestamp_ntz"), "datetime"),
    **dict.fromkeys(("array", "struct", "map"), "nested"),
    "string": "string",
    "binary": "binary",
    "boolean": "boolean",
}
_DECIMAL = re.compile(r"decimal(?:\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\))?")
_TEXT = re.compile(r"(?:char|varchar|string)(?:\(\s*\d+\s*\))?(?:\s+collate\s+\S+)?")
_PLAIN_NAME = re.compile(r"[^<>:,`]+")
_QUOTED_NAME = re.compile(r"`((?:[^`]|``)*)`(?=:)")
_WORD = re.compile(r"[^<>,:()]+(?:\([^()<>]*\))?[^<>,:()]*")
_MAX_PRECISION = 38


class UnknownTypeError(ValueError):
    """A text that is no Spark type."""


@dataclass(frozen=True)
class SparkType:
    """One node of a type. `children` are the element, the key and value, or the fields."""

    name: str
    precision: int = 0
    scale: int = 0
    children: tuple[SparkType, ...] = ()
    field_names: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """Spark's simpleString; char and varchar are string, nullability is no part of it."""
        return self._render(quoted=False)

    @property
    def quoted_text(self) -> str:
        """The simpleString with backticks around field names that `parse` would misread."""
        return self._render(quoted=True)

    @property
    def kind(self) -> str:
        """Which statistics the column has."""
        return _KINDS.get(self.name, "other")

    @property
    def dtype(self) -> str:
        """The storage name of the snapshot format."""
        return _STORAGE_NAMES.get(self.name, "other")

    @property
    def hashable(self) -> bool:
        """Whether the values, all the way down, have an encoding in data_sha."""
        return self.name in _STORAGE_NAMES and all(child.hashable for child in self.children)

    @property
    def is_wide(self) -> bool:
        """A decimal whose unscaled value needs two words."""
        return self.name == "decimal" and self.precision > 18

    def _render(self, *, quoted: bool) -> str:
        parts = [child._render(quoted=quoted) for child in self.children]
        if self.name == "decimal":
            return f"decimal({self.precision},{self.scale})"
        if self.name == "struct":
            names = [_quote(name) if quoted else name for name in self.field_names]
            parts = [f"{name}:{part}" for name, part in zip(names, parts, strict=True)]
        elif not parts:
            return self.name
        return f"{self.name}<{','.join(parts)}>"


def _quote(name: str) -> str:
    if _PLAIN_NAME.fullmatch(name):
        return name
    return "`" + name.replace("`", "``") + "`"


def _leaf(text: str) -> SparkType:
    """A type without children; what Spark has and we do not know keeps its name."""
    word = text.strip()
    lowered = word.lower()
    decimal = _DECIMAL.fullmatch(lowered)
    if decimal:
        precision, scale = int(decimal[1] or 10), int(decimal[2] or 0)
        if not 1 <= precision <= _MAX_PRECISION or not 0 <= scale <= precision:
            raise UnknownTypeError(f"{word!r}: a decimal has 1 to 38 digits and 0 <= scale <= it")
        return SparkType("decimal", precision, scale)
    if _TEXT.fullmatch(lowered):
        return SparkType("string")
    if lowered in ("", "array", "map", "struct"):
        raise UnknownTypeError(f"{word!r} is no whole Spark type: give the types inside it in <>")
    return SparkType(_JSON_NAMES.get(lowered, lowered))


def from_spark_json(node: str | Mapping[str, object]) -> SparkType:
    """Read a type from Spark's JSON schema (`df.schema.jsonValue()`, parquet row metadata)."""
    if isinstance(node, str):
        return _leaf(node)
    name = str(node.get("type"))
    if name == "array":
        return SparkType("array", children=(_json_child(node, "elementType"),))
    if name == "map":
        return SparkType(
            "map", children=(_json_child(node, "keyType"), _json_child(node, "valueType"))
        )
    if name == "struct":
        fields: Sequence[Mapping[str, object]] = node["fields"]  # type: ignore[assignment]
        return SparkType(
            "struct",
            children=tuple(_json_child(field, "type") for field in fields),
            field_names=tuple(str(field["name"]) for field in fields),
        )
    return SparkType(name.lower())


def _json_child(node: Mapping[str, object], key: str) -> SparkType:
    child = node[key]
    if isinstance(child, (str, dict)):
        return from_spark_json(child)
    raise UnknownTypeError(f"the schema's {key!r} is neither a name nor an object: {child!r}")


def parse(text: str) -> SparkType:
    """Read a simpleString such as `map<string,struct<a:int,b:array<decimal(10,2)>>>`."""
    reader = _Reader(text)
    result = reader.read_type()
    if reader.position != len(text):
        raise reader.error("unexpected text after the type")
    return result


class _Reader:
    """Recursive descent over one type text."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def error(self, why: str) -> UnknownTypeError:
        return UnknownTypeError(f"{self.text!r} is no Spark type: {why} at {self.position}")

    def peek(self) -> str:
        return self.text[self.position : self.position + 1]

    def expect(self, mark: str) -> None:
        if self.peek() != mark:
            raise self.error(f"expected {mark!r}")
        self.position += 1

    def read_type(self) -> SparkType:
        word = self._read_word()
        if self.peek() != "<":
            return _leaf(word)
        self.position += 1
        name = word.strip().lower()
        if name == "struct":
            result = self._read_struct()
        elif name == "array":
            result = SparkType("array", children=(self.read_type(),))
        elif name == "map":
            key = self.read_type()
            self.expect(",")
            result = SparkType("map", children=(key, self.read_type()))
        else:
            raise self.error(f"{name!r} takes no inner types")
        self.expect(">")
        return result

    def _read_struct(self) -> SparkType:
        names: list[str] = []
        children: list[SparkType] = []
        while self.peek() != ">":
            if names:
                self.expect(",")
            name, child = self._read_field()
            names.append(name)
            children.append(child)
        return SparkType("struct", children=tuple(children), field_names=tuple(names))

    def _read_word(self) -> str:
        found = _WORD.match(self.text, self.position)
        if not found:
            raise self.error("a type name is missing")
        self.position = found.end()
        return found[0]

    def _read_field(self) -> tuple[str, SparkType]:
        quoted = _QUOTED_NAME.match(self.text, self.position)
        if quoted:
            self.position = quoted.end() + 1
            return quoted[1].replace("``", "`"), self.read_type()
        return self._read_unquoted_field()

    def _read_unquoted_field(self) -> tuple[str, SparkType]:
        """`name:type`, the name ending at the first colon that a whole type follows."""
        start = self.position
        failure = self.error("a field is `name:type`; put a name with < or > in backticks")
        for mark in re.compile("[<>:]").finditer(self.text, start):
            if mark[0] != ":":
                break
            self.position = mark.end()
            try:
                child = self.read_type()
            except UnknownTypeError as error:
                failure = error
                continue
            if self.peek() in (",", ">"):
                return self.text[start : mark.start()], child
        raise failure
