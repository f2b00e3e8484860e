from gridner.config import DecodingConfig
from gridner.inference.candidate_oracle import candidate_oracle
from gridner.inference.recognizer import Recognizer
from gridner.tagging.tags import TagScheme
from support.small import Gold, documents, part, word_pieces


def recognizer(*, candidates: bool, lost: frozenset[str] = frozenset()) -> Recognizer:
    sentences = part().sentences
    pieces, scheme = word_pieces(sentences), TagScheme(("Sign",))
    engine = Gold(sentences, pieces, scheme, candidates=candidates)
    if lost:  # these words are no candidates anywhere
        numbers = {pieces.encode([[word]])[0].words[0][0] for word in lost}
        read = engine.encode

        def without(batch):  # type: ignore[no-untyped-def]
            found = read(batch)
            for row, length in enumerate(batch.lengths):
                for place in range(length):
                    if batch.pieces[row, place] in numbers:
                        found.excess[row, place] = -1
            return found

        engine.encode = without  # type: ignore[method-assign]
    return Recognizer(engine=engine, tokenizer=pieces, scheme=scheme, decoding=DecodingConfig())


def test_all_words_as_candidates_cost_nothing() -> None:
    found = candidate_oracle(recognizer(candidates=False), documents()).to_dict()
    assert (found["words"], found["cells"], found["entity words"], found["oracle"]["recall"]) == (1, 1, 1, 1)


def test_candidates_that_have_every_entity_word_leave_every_entity_in_reach() -> None:
    found = candidate_oracle(recognizer(candidates=True), documents()).to_dict()
    assert found["entity words"] == found["oracle"]["recall"] == 1
    assert found["cells"] < found["words"] < 1


def test_entities_with_a_word_that_is_no_candidate_are_out_of_reach() -> None:
    result = candidate_oracle(recognizer(candidates=True, lost=frozenset({"shoulder", "nausea"})), documents())
    score = result.oracle.score()
    assert score.fn == 2  # "pain in … shoulder" and "nausea"
    assert result.entity_words - result.entity_candidates == 2
