"""Requests and responses, as OpenAPI describes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

KINDS = ("a text alone", "a text with an id")  # of a list of texts
TEXT = "Pain in left arm and shoulder."
NOT_EMPTY: dict[str, Any] = {"pattern": r"[^\s\x1c-\x1f\x85]"}  # Python's white space is more than that of patterns
PAIR = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2, examples=[[0, 4]])]


def _unicode(value: object) -> object:
    """Refuse a lone surrogate, which JSON can contain and UTF-8 cannot."""
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError as error:
            half = f"U+{ord(value[error.start]):04X}"
            raise ValueError(f"character {error.start:,} is a lone surrogate, {half}, expected Unicode") from None
    return value


def _ascii(value: object) -> object:
    if isinstance(value, str):
        for place, character in enumerate(value):
            if not " " <= character <= "~":
                raise ValueError(f"character {place:,} is U+{ord(character):04X}, expected printable ASCII")
    return value


UnicodeText = Annotated[str, BeforeValidator(_unicode)]


class Strict(BaseModel):
    """An unknown key is an error."""

    model_config = ConfigDict(extra="forbid", strict=True)


class TextWithId(Strict):
    """A text with an id of its own."""

    id: Annotated[str, BeforeValidator(_ascii)] = Field(
        pattern=r"^[ -~]+$", max_length=256, description="Printable ASCII."
    )
    text: UnicodeText = Field(json_schema_extra=NOT_EMPTY)


class RecognizeRequest(Strict):
    """One text, or a list of them."""

    text: UnicodeText = Field("", description="One text.", json_schema_extra=NOT_EMPTY)
    texts: list[
        Annotated[
            Annotated[UnicodeText, Field(json_schema_extra=NOT_EMPTY), Tag(KINDS[0])]
            | Annotated[TextWithId, Tag(KINDS[1])],
            Discriminator(lambda item: KINDS[0] if isinstance(item, str) else KINDS[1]),
        ]
    ] = Field([], description="Several texts, each alone or with an id.", min_length=1)
    threshold: float | None = Field(None, ge=0, le=1, description="Minimum score of an entity (default: the model's).")
    types: list[str] | None = Field(None, min_length=1, description="Entity types to return (default: all).")
    model: str | Annotated[list[str], Field(min_length=1)] | None = Field(
        None, description="Name or names of the models to use (default: all models of the service)."
    )
    offsets: Literal["code-points", "utf-16"] = Field(
        "code-points", description="What fragments count: code points (Python), or UTF-16 units (JavaScript, Java)."
    )

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"text": TEXT}, {"texts": [TEXT, {"id": "note-2", "text": "Rods die."}], "threshold": 0.3}],
            "oneOf": [{"required": ["text"]}, {"required": ["texts"]}],
        }
    )

    @model_validator(mode="after")
    def _one_of(self) -> RecognizeRequest:
        if len({"text", "texts"} & self.model_fields_set) != 1:
            raise ValueError("expected either text or texts")
        return self


class Entity(BaseModel):
    """An entity of a document."""

    type: str
    fragments: list[PAIR] = Field(min_length=1, description="Start and end of each fragment, in text order.")
    score: float = Field(ge=0, le=1, description="Calibrated probability that the entity is correct.")
    meta: dict[str, Any] = Field({}, description="If there are several models: `models`, which found the entity.")


class Document(BaseModel):
    """A text with its entities, as in gridner's JSON lines."""

    id: str
    text: str
    entities: list[Entity]


class Note(BaseModel):
    """Something that was cut or capped, with its count."""

    what: str
    count: int


class RecognizeResponse(BaseModel):
    """The documents, in the order in which the texts were given."""

    documents: list[Document]
    notes: list[Note] = Field(description="What was cut or capped; usually empty.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "documents": [
                        {
                            "id": "text",
                            "text": TEXT,
                            "entities": [
                                {"type": "Condition", "fragments": [[0, 16]], "score": 0.97},
                                {"type": "Condition", "fragments": [[0, 7], [21, 29]], "score": 0.93},
                            ],
                        }
                    ],
                    "notes": [],
                }
            ]
        }
    )


class Type(BaseModel):
    """An entity type of a model, and what it means as far as the model says."""

    name: str
    description: str = Field(examples=["a disease, symptom or finding"])
    example: str = Field(description="An entity of this type; ' … ' is a gap.", examples=["pain in … shoulder"])
    corpus: str = Field(description="The corpus that annotates it.")


class Model(BaseModel):
    """A model of the service."""

    name: str
    description: str = Field(description="What it finds; empty if the model does not say.")
    language: str
    license: str
    engine: str
    types: list[Type]
    names: int = Field(description="Number of names in its gazetteer.")
    threshold: float = Field(description="Minimum score of an entity if a request sets none.")
    written_by: str
    dev_f1: dict[str, float] = Field(description="F1 on the dev set: all entities, and discontinuous ones.")
    settings: dict[str, dict[str, Any]]


class Models(BaseModel):
    """The models of the service; currently one."""

    models: list[Model]


class Status(BaseModel):
    """The state of the service."""

    status: Literal["ok", "ready", "not ready"]


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
