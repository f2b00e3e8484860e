from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from matplotlib.container import BarContainer
from matplotlib.figure import Figure

from gridner.corpus.splits import Part, part_of
from gridner.documents import Document, Entity, Fragment
from gridner.errors import MismatchError, Notes, UsageError
from gridner.experiment import paper_results, paper_tables
from gridner.experiment.bar_chart import Bars
from gridner.experiment.markdown_table import Table
from gridner.experiment.systems import System, runs_below, system_of
from gridner.experiment.variants import ABLATION, SEARCH, ablation_rows, changed, chosen, w2ner_of
from gridner.formats import write as write_corpus
from gridner.inference.corpus_evaluation import predictions_jsonl
from gridner.scoring.evaluation import ERRORS
from gridner.scoring.significance import Spread, spread
from support.small import documents, tiny_config


def parts() -> dict[str, Part]:
    """Dev has the first notes, test the others."""
    notes = documents()
    return {
        name: part_of(some, notes=Notes(), name=name)
        for name, some in (("train", notes), ("dev", notes[:3]), ("test", notes[3:]))
    }


def write(folder: Path, found: Mapping[str, list[Document]]) -> Path:
    """Predictions as a run keeps them."""
    folder.mkdir(parents=True)
    for name, some in found.items():
        scored = [replace(one, entities=tuple(replace(entity, score=0.9) for entity in one.entities)) for one in some]
        (folder / f"{name}.jsonl").write_text(predictions_jsonl(scored))
    return folder


def without_gaps(document: Document) -> Document:
    return replace(document, entities=tuple(one for one in document.entities if len(one.fragments) == 1))


@pytest.fixture
def systems(tmp_path: Path) -> list[System]:
    """One that knows everything, in two runs, and one that finds no discontinuous entity, in one."""
    golds = {name: list(part.documents) for name, part in parts().items() if name != "train"}
    flat = {name: [without_gaps(one) for one in some] for name, some in golds.items()}
    runs = [write(tmp_path / "all" / f"seed-{seed}", golds) for seed in (1, 2)]
    return [
        system_of("knows", runs, parts()),
        system_of("flat", [write(tmp_path / "flat", flat)], parts()),
    ]


def test_a_table_marks_what_rests_on_one_run() -> None:
    table = Table("T", ["", "F1", "n"], [["a|b", spread([60.0, 62.0]), 1234], ["c", spread([50.0]), None]])
    text = table.markdown()
    assert "| a\\|b | 61.00 ± 1.41 | 1,234 |" in text
    assert "| c | 50.00† | – |" in text
    assert "† One run, one seed." in text
    assert json.loads(json.dumps(table.plain()))["rows"][1][1] == {"mean": 50.0, "deviation": 0.0, "runs": 1}


def test_scores_are_those_of_the_predictions(systems: list[System]) -> None:
    knows, flat = systems
    assert knows.percent("test", "f1") == spread([100.0, 100.0])
    found = flat.percent("test", "recall")
    assert found is not None
    assert found.mean == pytest.approx(100 * 2 / 4)  # of the last three notes' entities
    assert flat.percent("dev", "f1", "discontinuous") == spread([0.0])
    assert flat.percent("dev", "f1", "overlap:none") is None


def test_every_table_has_dev_and_test(systems: list[System]) -> None:
    for make in (paper_tables.comparison, paper_tables.overlap, paper_tables.errors, paper_tables.discontinuous):
        outcome = make(systems, ["dev", "test"], "cadec")
        text = "\n".join(table.markdown() for table in outcome.tables)
        assert "dev" in text
        assert "test" in text
        assert "the paper" in text or "The paper" in text
        assert all(len(row) == len(table.columns) for table in outcome.tables for row in table.rows)
        assert all(len(values) == len(outcome.figure.groups) for values in outcome.figure.series.values())


def test_a_comparison_has_its_significance_test_on_both_parts(systems: list[System]) -> None:
    outcome = paper_tables.comparison(systems, ["dev", "test"], None)
    rows = outcome.tables[1].plain()["rows"]
    assert [(row[1], row[2]) for row in rows] == [
        (part, entities) for part in ("dev", "test") for entities in ("all", "discontinuous only")
    ]
    assert rows[0][0] == "knows against flat"
    assert rows[0][3] == 100.0
    assert rows[0][5] == pytest.approx(rows[0][3] - rows[0][4]["mean"])  # numbers, for machines
    assert all(0 < p <= 1 for p in rows[0][6:8])
    assert f"| {rows[0][5]:+.2f} " in outcome.tables[1].markdown()


def test_the_significance_test_also_swaps_whole_documents(tmp_path: Path) -> None:
    text = "Pain. Ache. Rash. Fever. Cough. Chills."
    words = [
        Entity("Sign", (Fragment(text.index(word), text.index(word) + len(word)),)) for word in text.split(". ")[:5]
    ]
    gold = Document("one", text, tuple(words))
    some = {name: part_of([gold], notes=Notes(), name=name) for name in ("train", "dev")}
    knows = system_of("knows", [write(tmp_path / "knows", {"dev": [gold]})], some)
    silent = system_of("silent", [write(tmp_path / "silent", {"dev": [replace(gold, entities=())]})], some)
    rows = paper_tables.comparison([knows, silent], ["dev"], None).tables[1].plain()["rows"]
    assert [row[2] for row in rows] == ["all"]  # nobody has a discontinuous one
    assert rows[0][6] == pytest.approx(2 / 2**5, abs=0.02)  # five sentences that differ
    assert rows[0][7] == 1.0  # one document: swapped or not, the difference is as large


def test_many_systems_can_be_told_apart_in_a_figure(tmp_path: Path) -> None:
    many = {f"system number {n}, which has a long name": [float(n), None] for n in range(8)}
    figure = Bars("T", "F1", ["a", "b"], many)
    drawn: list[Figure] = []
    save = Figure.savefig

    def saved(self: Figure, *args: Any, **more: Any) -> None:
        drawn.append(self)
        save(self, *args, **more)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", saved)
        figure.draw(tmp_path / "f.png")
    patches = [bars.patches[0] for bars in drawn[0].axes[0].containers if isinstance(bars, BarContainer)]
    assert len({(one.get_facecolor(), one.get_hatch()) for one in patches}) == len(many)
    legend = drawn[0].legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= drawn[0].bbox.x1


def test_error_shares_sum_to_100(systems: list[System]) -> None:
    shares = systems[1].errors("dev", "all")
    assert sum(shares[name].mean for name in ERRORS) == pytest.approx(100)
    assert shares["total"].mean > 0


def test_runs_without_errors_have_no_shares(tmp_path: Path) -> None:
    golds = list(parts()["dev"].documents)
    runs = [
        write(tmp_path / "seed-1", {"dev": golds}),
        write(tmp_path / "seed-2", {"dev": [*golds[:2], replace(golds[2], entities=())]}),
    ]
    found = system_of("some", runs, parts()).errors("dev", "all")
    assert sum(found[name].mean for name in ERRORS) == pytest.approx(100)
    assert found["total"].runs == 2
    assert found[ERRORS[0]].runs == 1


def test_runs_are_counted_for_each_part(systems: list[System], tmp_path: Path) -> None:
    golds = {name: list(part.documents) for name, part in parts().items() if name != "train"}
    runs = [write(tmp_path / "one", golds), write(tmp_path / "two", {"dev": golds["dev"]})]
    uneven = system_of("uneven", runs, parts())
    assert uneven.runs_on(["dev", "test"]) == "2 / 1"
    assert [one.runs_on(["dev", "test"]) for one in systems] == [2, 1]
    assert paper_tables.errors([uneven], ["test"], None).tables[0].rows[0] == ["runs", 1]
    significance = paper_tables.comparison(systems, ["dev"], None).tables[1]
    assert significance.rows[0][3] == 100.0
    assert isinstance(significance.rows[0][4], Spread)
    assert significance.rows[0][4].runs == 1
    assert "†" in significance.markdown()


def test_names_of_systems_are_text(systems: list[System], tmp_path: Path) -> None:
    odd = [replace(systems[0], name=r"a|$\foo$"), replace(systems[1], name="b$c")]
    outcome = paper_tables.errors(odd, ["dev", "test"], None)
    outcome.figure.draw(tmp_path / "odd.png")
    assert r"| a\|$\foo$ | b$c |" in outcome.tables[0].markdown()


def test_predictions_are_told_by_their_texts_where_ids_are_shared(tmp_path: Path) -> None:
    some = {
        name: part_of(
            [replace(one, id=str(number)) for number, one in enumerate(part.documents)], notes=Notes(), name=name
        )
        for name, part in parts().items()
    }
    write_corpus(some["test"].documents, tmp_path / "test.jsonl")
    assert set(system_of("p", [tmp_path / "test.jsonl"], some).runs) == {"test"}
    (tmp_path / "short.jsonl").write_text(
        predictions_jsonl([replace(one, entities=()) for one in some["test"].documents])
    )
    with pytest.raises(
        MismatchError, match=r"same document ids.* fit dev and test alike; expected a folder with dev.jsonl"
    ):
        system_of("p", [tmp_path / "short.jsonl"], some)
    write_corpus(some["train"].documents, tmp_path / "all.jsonl")
    with pytest.raises(MismatchError, match=r"same document ids.* expected a folder with dev.jsonl"):
        system_of("p", [tmp_path / "all.jsonl"], some)


def test_a_figure_is_a_picture(systems: list[System], tmp_path: Path) -> None:
    for number, make in enumerate((paper_tables.comparison, paper_tables.overlap)):
        path = tmp_path / f"{number}.png"
        make(systems, ["dev", "test"], None).figure.draw(path)
        assert path.read_bytes().startswith(b"\x89PNG")


def test_predictions_in_one_file_are_told_apart_by_their_documents(tmp_path: Path) -> None:
    (tmp_path / "p.jsonl").write_text(predictions_jsonl([replace(one, entities=()) for one in documents()]))
    found = system_of("p", [tmp_path / "p.jsonl"], parts())
    assert {name: runs[0].documents for name, runs in found.runs.items()} == {"dev": 3, "test": 3}
    (tmp_path / "d.jsonl").write_text(predictions_jsonl([replace(one, entities=()) for one in documents()[:3]]))
    assert set(system_of("d", [tmp_path / "d.jsonl"], parts()).runs) == {"dev"}


@pytest.mark.parametrize(
    ("some", "said"),
    [
        (
            [Document("other", "Some text.", (Entity("Sign", (Fragment(0, 4),)),))],
            "document other, expected predictions",
        ),
        (documents()[:2], "different documents"),
    ],
)
def test_predictions_of_other_documents_are_refused(tmp_path: Path, some: list[Document], said: str) -> None:
    lines = [json.dumps({"id": one.id, "text": one.text, "entities": []}) + "\n" for one in some]
    (tmp_path / "p.jsonl").write_text("".join(lines))
    with pytest.raises(MismatchError, match=f"p.jsonl: .*{said}"):
        system_of("p", [tmp_path / "p.jsonl"], parts())


def test_runs_are_found_below_a_folder_by_seed(tmp_path: Path) -> None:
    for seed in (10, 2, 1):
        (tmp_path / f"seed-{seed}").mkdir()
    assert [path.name for path in runs_below(tmp_path)] == ["seed-1", "seed-2", "seed-10"]
    assert runs_below(tmp_path / "seed-1") == [tmp_path / "seed-1"]


def test_the_rows_of_the_ablation_are_settings_that_differ() -> None:
    config = changed(tiny_config(), {"model.rounds": 3, "model.maps": 4})
    rows = ablation_rows(config)
    assert set(ABLATION) - set(rows) == {"rounds-3", "maps-4", "links-t-ends-l", "thresholds-fixed"}
    settings = [row.of(config) for row in rows.values()]
    assert all(a != b for n, a in enumerate(settings) for b in settings[:n])
    assert all(row.of(config).model == config.model for row in rows.values() if not row.trains)
    with pytest.raises(UsageError, match="expected settings of toe"):
        ablation_rows(w2ner_of(config))


def test_rows_are_chosen_by_name() -> None:
    assert chosen(["a", "b", "c"], ["c", "a"]) == ["a", "c"]
    assert chosen(["a", "b"], None) == ["a", "b"]
    with pytest.raises(UsageError, match="--rows d, expected some of a, b"):
        chosen(["a", "b"], ["d"])


def test_the_sets_of_the_search_are_possible_settings() -> None:
    for values in SEARCH.values():
        for changes in values.values():
            found = changed(tiny_config(), changes).to_dict()
            assert {path: found[path.split(".")[0]][path.split(".")[1]] for path in changes} == changes


@pytest.mark.parametrize("corpus", paper_results.CORPORA)
def test_the_papers_figures_are_copied_right(corpus: paper_results.Corpus) -> None:
    """F1 follows from P and R (means of runs, so nearly), and the shares of a block sum to 100."""
    rows = [row[corpus] for both in paper_results.ABLATION.values() for row in both]
    rows += [paper_results.COMPARISON["W2NER"][corpus], paper_results.COMPARISON_DEV["W2NER"][corpus]]
    for p, r, f1 in rows:
        assert p and r and f1
        assert 2 * p * r / (p + r) == pytest.approx(f1, abs=0.25)
    for block in paper_results.ERRORS.values():
        assert sum(block[corpus]) == pytest.approx(100, abs=0.02)
