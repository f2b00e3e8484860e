"""What goes in and out of the service, as OpenAPI describes it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag, model_validator

KINDS = ("a text alone", "a text with an id")  # of a list of texts
TEXT = "Loss of rod and cone photoreceptors."
NOT_EMPTY: dict[str, Any] = {"pattern": r"[^\s\x1c-\x1f\x85]"}  # Python's white space is more than that of patterns
PAIR = Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2, examples=[[0, 4]])]


def _unicode(value: object) -> object:
    """Refuse half a character, which JSON can write and nothing can carry on."""
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


Unicode = Annotated[str, BeforeValidator(_unicode)]


class Strict(BaseModel):
    """A key that is not known is an error, not a wish that nobody hears."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Text(Strict):
    """A text with an id of its own."""

    id: Annotated[str, BeforeValidator(_ascii)] = Field(
        pattern=r"^[ -~]+$", max_length=256, description="Printable ASCII."
    )
    text: Unicode = Field(json_schema_extra=NOT_EMPTY)


class Request(Strict):
    """One text, or a list of them."""

    text: Unicode = Field("", description="One text.", json_schema_extra=NOT_EMPTY)
    texts: list[
        Annotated[
            Annotated[Unicode, Field(json_schema_extra=NOT_EMPTY), Tag(KINDS[0])] | Annotated[Text, Tag(KINDS[1])],
            Discriminator(lambda item: KINDS[0] if isinstance(item, str) else KINDS[1]),
        ]
    ] = Field([], description="Several texts, each alone or with an id.", min_length=1)
    threshold: float | None = Field(
        None, ge=0, le=1, description="Score that an entity must exceed; the model's own if there is none."
    )
    types: list[str] | None = Field(None, min_length=1, description="Entity types to give; all if there are none.")
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
    def _one_of(self) -> Request:
        if len({"text", "texts"} & self.model_fields_set) != 1:
            raise ValueError("expected either text or texts")
        return self


class Entity(BaseModel):
    """An entity of a document."""

    type: str
    fragments: list[PAIR] = Field(min_length=1, description="Start and end of each fragment, in text order.")
    score: float = Field(ge=0, le=1, description="How sure the model is; calibrated.")


class Document(BaseModel):
    """A line of gridner's JSON lines: a text and what was found in it."""

    id: str
    text: str
    entities: list[Entity]


class Note(BaseModel):
    """Something that was cut or capped, and how often."""

    what: str
    count: int


class Answer(BaseModel):
    """The documents, in the order in which the texts were given."""

    documents: list[Document]
    notes: list[Note] = Field(description="What was cut or capped on the way; mostly nothing.")

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "documents": [
                        {
                            "id": "text",
                            "text": TEXT,
                            "entities": [
                                {"type": "Cell", "fragments": [[8, 11], [21, 35]], "score": 0.93},
                                {"type": "Cell", "fragments": [[16, 35]], "score": 0.97},
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
    description: str = Field(examples=["a kind of cell"])
    example: str = Field(description="An entity of this type; ' … ' is a gap.", examples=["rod … photoreceptors"])
    corpus: str = Field(description="The corpus that annotates it.")


class Model(BaseModel):
    """A model that the service has."""

    name: str
    description: str = Field(description="What it finds; empty if the model does not say.")
    language: str
    license: str
    engine: str
    types: list[Type]
    names: int = Field(description="How many names it knows.")
    threshold: float = Field(description="The score that an entity must exceed if a request does not say.")
    written_by: str
    dev_f1: dict[str, float] = Field(description="Where it was trained: of all entities, and of those with gaps.")
    settings: dict[str, dict[str, Any]]


class Models(BaseModel):
    """All of them: one."""

    models: list[Model]


class Status(BaseModel):
    """Whether the service is well."""

    status: Literal["ok", "ready", "not ready"]


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    type: str = "about:blank"
    title: str
    status: int
    detail: str
