"""gridner as a component of a spaCy pipeline: `nlp.add_pipe("gridner")`.

Fragments are spans of `doc.spans["gridner"]`, those of one entity with the same id; `doc._.gridner` has the entities
whole, with the characters that were found whatever spaCy's tokens are.
"""

# Annotations are not postponed here: spaCy reads those of the factory, and not every version of it evaluates strings.

import json
import os
import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gridner.documents import Document
from gridner.errors import FormatError, Notes, OutputError, UsageError, needs
from gridner.inference.base_recognizer import SENTENCES_PER_BATCH, BaseRecognizer
from gridner.inference.checkpoint import ATTRIBUTION, CARD, EXPORTED, MANIFEST, NAMES, TOKENIZER, WEIGHTS
from gridner.inference.installed_models import find_models
from gridner.inference.loading import load
from gridner.integrations.spacy_docs import NAME, Whose, document_of, entities_of, put

with needs("spacy"):
    import srsly  # type: ignore[import-untyped]
    from spacy.language import Language
    from spacy.tokens import Doc
    from spacy.util import raise_error

SAVED, MODEL, LEXICON = "settings.json", "model", "lexicon.tsv"
MODEL_FILES = (MANIFEST, TOKENIZER, *EXPORTED, WEIGHTS, NAMES, CARD, ATTRIBUTION)
FILES = (*(f"{MODEL}/{name}" for name in MODEL_FILES), LEXICON)  # of the component's folder, beside its settings

Handler = Callable[[str, Any, list[Doc], Exception], Any]


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings of the component, from its config."""

    model: str | list[str] | None = None  # installed models or folders; None: the default model
    threshold: float | None = None  # score that an entity must exceed; None: the model's own
    types: list[str] | None = None  # entity types to find; None: all
    lexicon: str | None = None  # a file of names beside the model's own; "none": no names at all
    threads: int | None = None
    batch_size: int = SENTENCES_PER_BATCH  # sentences that are sorted by length and batched
    spans_key: str = NAME
    tokens: Whose = "gridner"
    sentences: Whose = "gridner"

    def __post_init__(self) -> None:
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"gridner: threshold is {self.threshold}, expected 0 to 1")
        for name, least in (("batch_size", self.batch_size), ("threads", self.threads)):
            if least is not None and least < 1:
                raise UsageError(f"gridner: {name} is {least}, expected at least 1")
        if self.types is not None and not self.types:
            raise UsageError("gridner: types is an empty list; name some types, or leave it out to find all")
        if not self.spans_key:
            raise UsageError("gridner: spans_key is empty, expected a name")
        for name, whose in (("tokens", self.tokens), ("sentences", self.sentences)):
            if whose not in ("gridner", "spacy"):
                raise UsageError(f"gridner: {name} is {whose!r}, expected 'gridner' or 'spacy'")


@Language.factory(NAME, assigns=["doc.spans", "doc._.gridner"], default_config=asdict(Settings()))
def make(
    nlp: Language,  # noqa: ARG001
    name: str,
    model: str | list[str] | None,
    threshold: float | None,
    types: list[str] | None,
    lexicon: str | None,
    threads: int | None,
    batch_size: int,
    spans_key: str,
    tokens: Whose,
    sentences: Whose,
) -> "Component":
    """Return the component for `nlp.add_pipe("gridner", config=…)`."""
    return Component(
        name,
        Settings(model, threshold, types, lexicon, threads, batch_size, spans_key, tokens, sentences),
    )


class Component:
    """Finds entities in docs. `notes` counts what was widened, cut or capped in this process.

    The model is loaded for the first doc, as a pipeline that is read from a folder is made before its model is there;
    and again in each process that `nlp.pipe(n_process=…)` starts, as an engine's threads do not outlive a fork.
    """

    def __init__(self, name: str = NAME, settings: Settings | None = None) -> None:
        self.name = name
        self.settings = Settings() if settings is None else settings
        self.notes = Notes()
        self._model = self.settings.model
        self._lexicon = self.settings.lexicon
        self._loaded: tuple[int, BaseRecognizer] | None = None
        self._handler: Handler = raise_error
        self._docs = 0

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_loaded": None}

    @property
    def recognizer(self) -> BaseRecognizer:
        """The recognizer of this process."""
        if self._loaded is None or self._loaded[0] != os.getpid():
            settings: dict[str, Any] = {} if self.settings.threshold is None else {"threshold": self.settings.threshold}
            recognizer = load(self._model, threads=self.settings.threads, lexicon=self._lexicon, **settings)
            known = recognizer.types
            for type in sorted(set(self.settings.types or ()) - set(known)):
                raise UsageError(f"gridner: type {type}, expected those that the model finds: {', '.join(known)}")
            self._loaded = os.getpid(), recognizer
        return self._loaded[1]

    def set_error_handler(self, error_handler: Handler) -> None:
        """Set the function that `nlp.pipe` calls with docs that raise an error."""
        self._handler = error_handler

    def get_error_handler(self) -> Handler:
        """Return the function that `nlp.pipe` calls with docs that raise an error."""
        return self._handler

    def __call__(self, doc: Doc) -> Doc:
        """Return the doc with the entities that are found."""
        self._answer(self.recognizer, [(doc, self._document(doc))])
        return doc

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Yield the docs in order; `batch_size` at a time go through the network together.

        A doc that raises an error goes to the error handler; the others are not affected.
        """
        recognizer, rest = self.recognizer, iter(stream)  # a model that cannot be loaded is the fault of no doc
        while docs := list(islice(rest, batch_size)):
            pairs: list[tuple[Doc, Document]] = []
            for doc in docs:
                try:
                    pairs.append((doc, self._document(doc)))
                except Exception as error:
                    self._handler(self.name, self, [doc], error)
            try:
                self._answer(recognizer, pairs)
            except Exception:
                yield from self._one_by_one(recognizer, pairs)
            else:
                yield from (doc for doc, _ in pairs)

    def _one_by_one(self, recognizer: BaseRecognizer, pairs: Sequence[tuple[Doc, Document]]) -> Iterator[Doc]:
        for doc, document in pairs:
            try:
                self._answer(recognizer, [(doc, document)])
            except Exception as error:
                self._handler(self.name, self, [doc], error)
            else:
                yield doc

    def _document(self, doc: Doc) -> Document:
        self._docs += 1
        settings = self.settings
        return document_of(doc, f"doc {self._docs}", tokens=settings.tokens, sentences=settings.sentences)

    def _answer(self, recognizer: BaseRecognizer, pairs: Sequence[tuple[Doc, Document]]) -> None:
        """Find the entities and put them into the docs: into all of them, or none."""
        wanted, notes = self.settings.types, Notes()
        documents = [document for _, document in pairs]
        answers = list(recognizer.pipe(documents, batch_size=self.settings.batch_size, notes=notes))
        for (doc, _), answer in zip(pairs, answers, strict=True):
            entities = [entity for entity in answer.entities if wanted is None or entity.type in wanted]
            put(doc, entities, self.settings.spans_key, where=answer.id, notes=notes)
        self.notes.merge(notes)

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings, and the model with them unless it is excluded: the folder needs nothing else."""
        folder, files = Path(path), self._files(exclude)
        try:
            (folder / MODEL).mkdir(parents=True, exist_ok=True)
            for name in FILES:
                if name not in files:
                    (folder / name).unlink(missing_ok=True)  # of a pipeline that was here
                elif not ((folder / name).exists() and files[name].samefile(folder / name)):
                    shutil.copyfile(files[name], folder / name)
            (folder / SAVED).write_bytes(self._saved())
        except OSError as error:
            raise OutputError(f"{error.filename or folder}: cannot be written ({error.strerror})") from None

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> "Component":
        """Read what `to_disk` wrote. A setting that this pipeline was given stands, the others are as written."""
        folder, configured, default = Path(path), asdict(self.settings), asdict(Settings())
        if not (folder / SAVED).is_file():
            raise FormatError(f"{folder}: not a folder of the gridner component, expected {SAVED} in it")
        try:
            saved: dict[str, Any] = json.loads((folder / SAVED).read_bytes())
        except ValueError as error:
            raise FormatError(f"{folder / SAVED}: damaged ({error}); save the pipeline again") from None
        if unknown := sorted(saved.keys() - default.keys()):
            raise FormatError(
                f"{folder / SAVED}: unknown setting {unknown[0]!r:.40}; save the pipeline with this version"
            )
        settings: dict[str, Any] = {**default, **saved}
        settings |= {name: value for name, value in configured.items() if value != default[name]}
        self.settings = Settings(**settings)
        self._model, self._lexicon, self._loaded = self.settings.model, self.settings.lexicon, None
        if MODEL not in exclude:
            if self._model == saved.get("model") and (folder / MODEL / MANIFEST).is_file():
                self._model = str(folder / MODEL)
            if self._lexicon == saved.get("lexicon") and (folder / LEXICON).is_file():
                self._lexicon = str(folder / LEXICON)
        return self

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return what `to_disk` writes, as bytes."""
        files = {name: path.read_bytes() for name, path in self._files(exclude).items()}
        packed: bytes = srsly.msgpack_dumps({**files, SAVED: self._saved()})
        return packed

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "Component":
        """Read what `to_bytes` gave. The files are put into a folder that is removed with the component."""
        files = srsly.msgpack_loads(bytes_data)
        folder = Path(tempfile.mkdtemp(prefix="gridner-"))
        weakref.finalize(self, _remove, folder, os.getpid())
        (folder / MODEL).mkdir()
        for name in (SAVED, *FILES):
            if name in files:
                (folder / name).write_bytes(files[name])
        return self.from_disk(folder, exclude=exclude)

    def _saved(self) -> bytes:
        return json.dumps(asdict(self.settings), indent=1).encode()

    def _files(self, exclude: Iterable[str]) -> dict[str, Path]:
        """Return the files that a copy of the component needs, by their names in its folder."""
        if MODEL in exclude:
            return {}
        models = find_models(self._model)
        if len(models) > 1:
            raise UsageError(
                f"gridner: {len(models)} models, but a pipeline can be saved with one; exclude {MODEL!r} and "
                "install the models where the pipeline is loaded"
            )
        (model,) = models.values()
        if not (model / MANIFEST).is_file():
            raise FormatError(f"{model}: not a gridner model, expected a folder with {MANIFEST}")
        files = {f"{MODEL}/{name}": model / name for name in MODEL_FILES if (model / name).is_file()}
        if self._lexicon not in (None, "none"):
            files[LEXICON] = Path(str(self._lexicon))
            if not files[LEXICON].is_file():
                raise FormatError(f"{self._lexicon}: no such file; pass a gazetteer, or 'none'")
        return files


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in one that was forked from it
        shutil.rmtree(folder, ignore_errors=True)


Doc.set_extension(NAME, getter=entities_of, force=True)
