"""Unlabelled sentences with teachers' answers, as examples in the training steps of a student."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from gridner.config import Config
from gridner.distillation.answer_file import Answer, AnswerFile, AnswerInfo
from gridner.distillation.sparse_grid import LabelMap
from gridner.errors import Notes, UsageError
from gridner.inference.word_pieces import EncodedSentence, PieceTokenizer
from gridner.tagging.tags import TagScheme
from gridner.training.examples import Example

TOO_LONG = "unlabelled sentence longer than a window of the student, left out"


class Unlabelled:
    """The unlabelled sentences of each step, read from the file of answers when the step needs them.

    They come in shuffled passes over the whole file. The sentences of a step depend only on the seed and the number of
    the step, so a resumed run sees the same.
    """

    def __init__(
        self, info: AnswerInfo, *, scheme: TagScheme, pieces: PieceTokenizer, config: Config, seed: int, notes: Notes
    ) -> None:
        self.pieces = pieces
        self.decoding = config.decoding
        self.seed = seed
        share = config.distill.share
        self.per_step = max(1, round(config.train.batch_size * share / (1 - share)))
        self._frame = self.pieces.encode([["a"]])[0].piece_count  # special pieces, and one more
        self.labels = LabelMap.between(info.scheme, scheme)

        def wanted(answer: Answer, where: str) -> bool:
            fits = self._fits(answer)
            if not fits:
                notes.add(TOO_LONG, where)
            return fits

        self.answers = AnswerFile(info, wanted=wanted)
        if not len(self.answers):
            raise UsageError(f"{info.path}: no sentence fits into a window of the student; expected some")
        self._pass, self._order = -1, np.empty(0, dtype=np.int64)

    def about(self) -> dict[str, Any]:
        """Return the names and hashes of teachers and texts, for the model card."""
        info = self.answers.info
        header = {name: info.header[name] for name in ("text", "teachers", "least", "share")}
        return {**header, "sentences": len(self.answers), "per_step": self.per_step, "sha256": info.sha256}

    def step(self, number: int) -> list[Example]:
        """Return the examples of step `number` of the run."""
        first = number * self.per_step
        return [self._example(self._shuffled_index(index)) for index in range(first, first + self.per_step)]

    def _shuffled_index(self, index: int) -> int:
        """Return the index in the file of the sentence that comes at `index` in the run."""
        pass_number, index_in_pass = divmod(index, len(self.answers))
        if pass_number != self._pass:
            self._pass, self._order = pass_number, self._shuffled(pass_number)
        return int(self._order[index_in_pass])

    def _shuffled(self, pass_number: int) -> NDArray[np.int64]:
        return np.random.default_rng([self.seed, pass_number]).permutation(len(self.answers))

    def _example(self, index: int) -> Example:
        answer = self.answers[index]
        return Example(self._encoded(answer), (), answer=self.labels.sparse(answer.grid))

    def _encoded(self, answer: Answer) -> EncodedSentence:
        return self.pieces.encode([answer.words])[0]

    def _fits(self, answer: Answer) -> bool:
        """Return whether a sentence fits into one window."""
        most = self.pieces.max_pieces
        if len(answer.words) > self.decoding.max_words:
            return False
        size = sum(len(word.encode("utf-8", "surrogatepass")) for word in answer.words)
        if size + self._frame <= most:  # there are no more pieces than bytes: no need to encode
            return True
        return self._encoded(answer).piece_count <= most
