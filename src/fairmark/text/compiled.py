"""A text that is compiled when its grader is parsed: what templates and formulas have in common."""

from typing import Any, ClassVar, Self

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema


class CompiledText:
    """Made from its source, equal by its source, a plain string in JSON.

    A subclass compiles in `__init__` and raises InvalidGrader there, with every problem the text has.
    """

    __slots__ = ("source",)

    wanted: ClassVar[str]
    """What such a field takes, for messages."""

    def __init__(self, source: str) -> None:
        self.source = source

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.source!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and other.source == self.source

    def __hash__(self) -> int:
        return hash(self.source)

    def __reduce__(self) -> tuple[type[Self], tuple[str]]:
        return type(self), (self.source,)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """As a field's type: a string in, the source out again."""
        return core_schema.no_info_after_validator_function(
            cls,
            core_schema.str_schema(strict=True),
            serialization=core_schema.plain_serializer_function_ser_schema(lambda compiled: compiled.source),
        )
