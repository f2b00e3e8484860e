"""A model as ONNX: the same scores, without torch."""

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper

from gridner.errors import FormatError, UsageError
from gridner.export.onnx import export
from gridner.inference.checkpoint import EXPORTED, MANIFEST, TOKENIZER, read_checkpoint
from gridner.inference.engine import Engine, ScoredGrid, score_sentences
from gridner.inference.loading import load
from gridner.inference.onnx_engine import OnnxEngine
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer
from gridner.model.trained_model import TorchEngine, TrainedModel
from support.small import documents, part
from support.untrained import untrained


@pytest.fixture(scope="module", params=["toe", "w2ner", "candidates", "groups"])
def both(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, exported: Path
) -> tuple[TrainedModel, Path]:
    model = untrained(request.param)
    if request.param == "toe":
        return model, exported
    folder = tmp_path_factory.mktemp("exported") / "model"
    export(model, folder)
    return model, folder


def scores_of(engine: Engine, pieces: PieceTokenizer, sentences: Sequence[EncodedSentence]) -> list[ScoredGrid]:
    grids = dict(score_sentences(engine, pieces, sentences, forced=[()] * len(sentences), cells=8192))
    return [grids[number] for number in range(len(sentences))]


def test_scores_are_those_of_torch_whatever_the_batch(both: tuple[TrainedModel, Path]) -> None:
    model, folder = both
    words = [[word.text for word in sentence.words] for sentence in part().sentences]
    words += [["pain"], ["left"] * 40]
    encoded = model.pieces.encode(words)
    torch_engine, onnx_engine = TorchEngine(model.model), OnnxEngine(folder)
    for some in (encoded, encoded[:1], encoded[-1:], encoded[-2:-1], encoded[1:4]):
        for expected, found in zip(
            scores_of(torch_engine, model.pieces, some), scores_of(onnx_engine, model.pieces, some), strict=True
        ):
            assert found.candidates == expected.candidates
            np.testing.assert_allclose(found.scores, expected.scores, atol=1e-4)
            assert (expected.scores > 0).any()


def test_an_exported_model_finds_what_the_model_finds(both: tuple[TrainedModel, Path]) -> None:
    model, folder = both
    settings: dict[str, Any] = {"link_threshold": 0.2, "end_threshold": 0.4}
    expected = list(model.recognizer(**settings).pipe(documents()))
    found = list(load(folder, threads=1, **settings).pipe(documents()))
    assert found == expected
    assert any(document.entities for document in found)


@pytest.fixture(scope="module")
def in_bytes(both: tuple[TrainedModel, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same model in 8 bits. The networks in 32 bits are at hand, so they need not be traced again."""
    model, whole = both
    networks = iter(EXPORTED)
    folder = tmp_path_factory.mktemp("int8") / "model"
    with patch("gridner.export.onnx._write", lambda *arguments: shutil.copy(whole / next(networks), arguments[-1])):
        export(model, folder, sample=part().sentences)
    return folder


def test_in_8_bits_it_is_smaller_and_nearly_the_same(both: tuple[TrainedModel, Path], in_bytes: Path) -> None:
    model, folder = both
    sizes = [sum((each / name).stat().st_size for name in EXPORTED) for each in (in_bytes, folder)]
    assert sizes[0] < sizes[1] / 2
    assert read_checkpoint(in_bytes)[0].int8
    assert not read_checkpoint(folder)[0].int8
    encoded = model.pieces.encode([[word.text for word in sentence.words] for sentence in part().sentences])
    for whole, small in zip(
        scores_of(OnnxEngine(folder), model.pieces, encoded),
        scores_of(OnnxEngine(in_bytes), model.pieces, encoded),
        strict=True,
    ):
        if whole.candidates == small.candidates != ():
            spread = np.abs(whole.scores - whole.scores.mean()).mean()
            # untrained, so scores hardly differ from each other and rounding weighs much
            assert np.abs(small.scores - whole.scores).mean() < 0.35 * spread


def test_in_8_bits_all_products_with_weights_run_on_integers(in_bytes: Path) -> None:
    for name in EXPORTED:
        graph = onnx.load(in_bytes / name).graph
        floats = {tensor.name for tensor in graph.initializer}  # weights, and what is computed from weights alone
        for node in graph.node:
            if node.op_type == "MatMul":
                words, weights = node.input
                assert words in floats or weights not in floats
            elif node.op_type != "DequantizeLinear" and floats.issuperset(node.input):
                floats.update(node.output)


def test_in_8_bits_neighbours_do_not_matter_either(both: tuple[TrainedModel, Path], in_bytes: Path) -> None:
    model = both[0]
    words = [[word.text for word in sentence.words] for sentence in part().sentences]
    encoded = model.pieces.encode([*words, ["pain"], ["left"] * 40, ["odd", "&", "even", "Ω"] * 5])
    engine = OnnxEngine(in_bytes)
    together = scores_of(engine, model.pieces, encoded)
    for one, among in zip(encoded, together, strict=True):
        (alone,) = scores_of(engine, model.pieces, [one])
        assert among.candidates == alone.candidates
        np.testing.assert_allclose(among.scores, alone.scores, atol=1e-3)
    recognizer = load(in_bytes, link_threshold=0.2, end_threshold=0.4)
    expected = list(recognizer.pipe(documents()))
    assert any(document.entities for document in expected)
    for size in (1, 2, 5):
        assert list(recognizer.pipe(documents(), batch_size=size)) == expected
    assert [next(recognizer.pipe([document])) for document in documents()] == expected


def test_a_sample_without_a_sentence_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no sentence of at most 100 words in the sample"):
        export(untrained("toe"), tmp_path / "m", sample=[])
    assert not (tmp_path / "m").exists()


def test_an_exported_model_is_a_folder_with_its_card(both: tuple[TrainedModel, Path]) -> None:
    model, folder = both
    assert {path.name for path in folder.iterdir()} == {MANIFEST, *EXPORTED, TOKENIZER, "README.md"}
    assert read_checkpoint(folder)[0].config == model.checkpoint.config
    with pytest.raises(FormatError, match="an exported model, which can only predict"):
        TrainedModel.load(folder)


def test_a_model_on_torch_is_loaded_too(tmp_path: Path) -> None:
    model = untrained("toe")
    model.save_pretrained(tmp_path / "m")
    assert list(load(tmp_path / "m", link_threshold=0.2).pipe(documents())) == list(
        model.recognizer(link_threshold=0.2).pipe(documents())
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda path: path.unlink(), "words.onnx: missing"),
        (lambda path: path.write_bytes(b"no"), "words.onnx: altered"),
    ],
)
def test_a_network_that_is_not_whole_is_refused(both: tuple[TrainedModel, Path], tmp_path, change, said) -> None:  # type: ignore[no-untyped-def]
    copy = Path(shutil.copytree(both[1], tmp_path / "model"))
    change(copy / EXPORTED[0])
    with pytest.raises(FormatError, match=said):
        load(copy)


def test_a_file_that_is_not_onnx_is_refused(tmp_path: Path) -> None:
    (tmp_path / "words.onnx").write_bytes(b"not a network")
    with pytest.raises(FormatError, match=r"words\.onnx: .*; export the model again"):
        OnnxEngine(tmp_path)


def test_a_network_of_another_kind_is_refused(tmp_path: Path) -> None:
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "other",
        [value("x", TensorProto.FLOAT, [1])],
        [value("y", TensorProto.FLOAT, [1])],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=8), tmp_path / "words.onnx")
    with pytest.raises(FormatError, match="inputs x and outputs y, expected lengths, piece_mask, pieces, word_pieces"):
        OnnxEngine(tmp_path)


def test_prediction_needs_neither_torch_nor_transformers(both: tuple[TrainedModel, Path]) -> None:
    program = (
        "import sys; from gridner.inference.loading import load; load(sys.argv[1])('Pain in left arm.'); "
        "print([name for name in ('torch', 'transformers', 'accelerate', 'onnx') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program, both[1]], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_threads_are_those_of_torch_too(tmp_path: Path) -> None:
    untrained("toe").save_pretrained(tmp_path)
    before = torch.get_num_threads()
    try:
        for threads in (2, 1):
            load(tmp_path, threads=threads)
            assert torch.get_num_threads() == threads
        load(tmp_path)
        assert torch.get_num_threads() == 1  # as it was
    finally:
        torch.set_num_threads(before)
