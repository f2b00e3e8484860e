"""Train on documents or corpora in one call: held-out dev, folds, seeds, reports."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gridner.config import Config, TrainConfig, read_config
from gridner.corpus.gazetteer import Lexicon, read_lexicon
from gridner.corpus.held_out import DEV_SHARE, folds_of_each, hold_out_each
from gridner.corpus.splits import Corpus, part_of
from gridner.documents import Document
from gridner.errors import Notes, UsageError
from gridner.formats import read
from gridner.inference.model_description import ModelAbout
from gridner.scoring.evaluation import pair
from gridner.scoring.significance import Spread
from gridner.training.loop import Watcher
from gridner.training.many_runs import scored_parts, summary, train_all
from gridner.training.task import TrainingTask
from gridner.view.report_file import WrittenReport, write_report


@dataclass(frozen=True, slots=True)
class TrainingResult:
    """The finished runs of a training, by name. The name is a folder in `output`; a single run has the empty name."""

    output: Path
    runs: Mapping[str, Mapping[str, Any]]  # by run: `training` of the model's manifest, with the scores
    tasks: Mapping[str, TrainingTask]  # by run
    notes: Mapping[str, Notes]  # by run

    @property
    def scores(self) -> dict[str, dict[str, dict[str, Spread]]]:
        """Mean and standard deviation over the runs, by part (dev, test), slice and measure."""
        return {part: summary(self.runs, part) for part in scored_parts(self.runs)}

    def write_reports(
        self, *, no_text: bool = False, on_sentence: Callable[[], None] = lambda: None
    ) -> Iterator[WrittenReport]:
        """Write an HTML report on dev, with grids, into the folder of each run. Yield what was written."""
        for run, task in self.tasks.items():
            folder = self.output / run
            for part_name, corpus, dev in task.each_part("dev"):
                texts = {document.id: document.text for document in dev.documents}
                predictions = read(folder / f"{part_name}.jsonl", texts=texts)
                yield write_report(
                    folder / (f"report-{corpus.name}.html" if task.more else "report.html"),
                    dev.documents,
                    {part_name: [predicted for _, predicted in pair(dev.documents, predictions)]},
                    title=f"{folder.name} on {part_name}",
                    no_text=no_text,
                    model=folder,
                    force=True,
                    each=on_sentence,
                )


def train(
    config: Config | str | Path,
    documents: Iterable[Document],
    *,
    output: str | Path,
    dev: Iterable[Document] | float | None = DEV_SHARE,
    test: Iterable[Document] | None = None,
    seeds: Sequence[int] | None = None,
    folds: int | None = None,
    init: str | Path | None = None,
    lexicon: Lexicon | str | Path | None = None,
    own_names: bool = False,
    answers: str | Path | None = None,
    resume: bool = False,
    notes: Notes | None = None,
) -> TrainingResult:
    """Train a model on documents and write it to the folder `output`.

    `config` is a preset such as "craft", a TOML file or a `Config`. The best epoch on `dev` is kept: documents, or the
    share of the training documents to hold out. With several `seeds` or with `folds`, each run has a folder in
    `output`. `init` is a model to start from, and `lexicon` a gazetteer to save with the model. `answers` is a file of
    `gridner distill --only-answers` to learn from as well. `resume` continues an interrupted training.
    """
    notes = Notes() if notes is None else notes
    settings = config if isinstance(config, Config) else read_config(config)
    if seeds is not None:
        settings = replace(settings, train=replace(settings.train, seeds=tuple(seeds)))
    share = float(dev) if isinstance(dev, int | float) else None
    dev_documents = None if dev is None or isinstance(dev, int | float) else dev
    corpus = Corpus(
        "",
        part_of(documents, notes=notes, name="train"),
        None if dev_documents is None else part_of(dev_documents, notes=notes, name="dev"),
        None if test is None else part_of(test, notes=notes, name="test"),
    )
    return train_corpora(
        settings,
        [corpus],
        output=Path(output),
        dev_share=share,
        folds=folds,
        init=None if init is None else Path(init),
        lexicon=lexicon if isinstance(lexicon, Lexicon) else read_lexicon(lexicon) if lexicon else Lexicon(),
        own_names=own_names,
        answers=None if answers is None else Path(answers),
        resume=resume,
        notes=notes,
    )


def train_corpora(
    config: Config,
    corpora: Sequence[Corpus],
    *,
    output: Path,
    dev_share: float | None = None,
    folds: int | None = None,
    init: Path | None = None,
    lexicon: Lexicon | None = None,
    own_names: bool = False,
    answers: Path | None = None,
    about: ModelAbout | None = None,
    command: str = "",
    resume: bool = False,
    watcher: Callable[[str, TrainConfig, int], Watcher | None] = lambda *_: None,
    notes: Notes | None = None,
) -> TrainingResult:
    """Train one model on one or several corpora, for each seed of the settings and each fold.

    With `dev_share`, that share of the training documents of each corpus becomes its dev. `answers` is a file of
    teachers' answers about unlabelled text (gridner.distillation), to learn from as well. `about` says what the model
    is for and what its types mean. `watcher` is called with the name of a run, its settings and the number of runs
    after it, and returns a watcher for the run or None.
    """
    if folds is not None and any(corpus.test is not None for corpus in corpora):
        raise UsageError("folds and test documents, expected only one of them: each fold is the test set once")

    def task_of(corpora: Sequence[Corpus]) -> TrainingTask:
        first, *more = corpora if dev_share is None else hold_out_each(corpora, dev_share)
        return TrainingTask(
            config=config,
            train=first.train,
            dev=first.dev,
            test=first.test,
            name=first.name,
            weight=first.weight,
            more=tuple(more),
            output=output,
            init=init,
            lexicon=Lexicon() if lexicon is None else lexicon,
            own_names=own_names,
            answers=answers,
            about=ModelAbout() if about is None else about,
            split=frozenset(["dev"] * (dev_share is not None) + ["test"] * (folds is not None)),
            command=command,
        )

    if folds is None:
        tasks = {"": task_of(corpora)}
    else:
        tasks = {f"fold-{number}": task_of(fold) for number, fold in enumerate(folds_of_each(corpora, folds), start=1)}
    notes_by_run: dict[str, Notes] = {}
    runs = train_all(
        tasks,
        seeds=config.train.seeds,
        output=output,
        resume=resume,
        watcher=watcher,
        notes=lambda run: notes_by_run.setdefault(run, Notes() if notes is None else notes.copy()),
    )
    tasks_by_run = {
        run: next(task for name, task in tasks.items() if name in ("", run) or run.startswith(f"{name}/"))
        for run in runs
    }
    return TrainingResult(output, runs, tasks_by_run, notes_by_run)
