"""Tokenizers of language models, adapted to text that is already split into words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

PROBE_WORDS = ("pain", "Pain-free", "(p53)", "2.5")
TINY_VOCABULARY = 4000  # pieces of a tokenizer trained on a corpus, if its alphabet leaves room
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")


def with_word_starts(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer that gives a single word the pieces that it has inside a text: "Ġpain", "▁pain"."""
    first = tokenizer.encode("the", add_special_tokens=False).ids
    in_text = {word: tokenizer.encode(f"the {word}", add_special_tokens=False).ids for word in PROBE_WORDS}
    expected = {word: ids[len(first) :] for word, ids in in_text.items() if ids[: len(first)] == first}
    for variant in _variants(tokenizer):
        alone = {word: variant.encode([word], is_pretokenized=True, add_special_tokens=False).ids for word in expected}
        if alone == expected:
            return variant
    raise ValueError("it splits a single word differently from the same word inside a text")


def _variants(tokenizer: Tokenizer) -> Iterator[Tokenizer]:
    """Yield the tokenizer, then copies that mark the start of a word in other ways."""
    yield tokenizer
    for kind, key, value in (
        ("ByteLevel", "add_prefix_space", True),
        ("Metaspace", "prepend_scheme", "always"),
        ("Metaspace", "prepend_scheme", "never"),
    ):
        data = json.loads(tokenizer.to_str())
        for step in _steps(data["pre_tokenizer"]):
            if step["type"] == kind:
                step[key] = value
        yield Tokenizer.from_str(json.dumps(data))
    data = json.loads(tokenizer.to_str())
    steps = [step for step in (data["normalizer"], {"type": "Prepend", "prepend": " "}) if step]
    data["normalizer"] = {"type": "Sequence", "normalizers": steps}
    yield Tokenizer.from_str(json.dumps(data))


def with_capitals(tokenizer: Tokenizer) -> Tokenizer | None:
    """Return a copy that keeps capitals if the tokenizer lowercases but has pieces with capitals, else None.

    Several cased models, BioBERT and ClinicalBERT among them, come without the setting that turns lowercasing off.
    """
    data = json.loads(tokenizer.to_str())
    lowercasing = [
        step for step in _steps(data["normalizer"]) if step["type"] == "BertNormalizer" and step["lowercase"]
    ]
    special = {token.content for token in tokenizer.get_added_tokens_decoder().values()}
    pieces = [piece for piece in tokenizer.get_vocab() if piece not in special]
    capitals = sum(any("A" <= letter <= "Z" for letter in piece) for piece in pieces)
    if not lowercasing or capitals <= 0.01 * len(pieces):
        return None
    for step in lowercasing:
        step["lowercase"] = False
    return Tokenizer.from_str(json.dumps(data))


def _steps(step: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    """Yield a normalizer or pre-tokenizer of a tokenizer.json and, if it is a sequence, its steps."""
    if step is not None:
        yield step
        for inner in step.get("pretokenizers") or step.get("normalizers") or ():
            yield from _steps(inner)


def tiny_tokenizer(sentences: Iterable[Sequence[str]]) -> Tokenizer:
    """Return a WordPiece tokenizer trained on the words of sentences. Their order does not change it."""
    normalizer, splitter = normalizers.BertNormalizer(lowercase=True), pre_tokenizers.BertPreTokenizer()
    texts = [" ".join(words) for words in sentences]
    letters = sorted({letter for text in texts for letter in normalizer.normalize_str(text) if not letter.isspace()})
    # Without a given alphabet the trainer numbers "##a" in the order of a hash table, and the numbers break ties.
    alphabet = [*SPECIAL, *letters, *(f"##{letter}" for letter in letters)]
    trainer = trainers.WordPieceTrainer(
        vocab_size=max(TINY_VOCABULARY, len(alphabet)), min_frequency=2, special_tokens=alphabet, show_progress=False
    )
    draft = Tokenizer(models.WordPiece({}, unk_token="[UNK]"))  # noqa: S106
    draft.normalizer, draft.pre_tokenizer = normalizer, splitter
    draft.train_from_iterator(texts, trainer)
    tokenizer = Tokenizer(models.WordPiece(draft.get_vocab(), unk_token="[UNK]"))  # noqa: S106
    tokenizer.normalizer, tokenizer.pre_tokenizer = normalizer, splitter
    tokenizer.add_special_tokens(list(SPECIAL))  # in the draft, letters are special as well
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", SPECIAL.index("[CLS]")), ("[SEP]", SPECIAL.index("[SEP]"))]
    )
    return tokenizer
