import torch
from hypothesis import given
from hypothesis import strategies as st

from gridner.model.candidates import (
    MOST_SHARE,
    RANDOM_SHARE,
    candidates_by_sentence,
    choose_for_training,
    pad_candidates,
)


@given(st.integers(0, 2**32), st.integers(1, 30), st.floats(-3, 3))
def test_entity_words_are_always_candidates_and_others_only_in_part(seed: int, n: int, mean: float) -> None:
    random = torch.Generator().manual_seed(seed)
    lengths = torch.randint(1, n + 1, (4,), generator=random)
    word_mask = torch.arange(n) < lengths.unsqueeze(1)
    gold = (torch.rand(4, n, generator=random) < 0.2) & word_mask
    excess = mean + torch.randn(4, n, generator=random)
    chosen = choose_for_training(excess, gold, word_mask)
    assert chosen[gold].all()
    assert not chosen[~word_mask].any()
    assert chosen.any(dim=1).all()
    others = (chosen & ~gold).sum(dim=1)
    assert (others <= (lengths * MOST_SHARE).ceil().clamp_min(1)).all()


def test_words_below_the_threshold_are_candidates_at_random() -> None:
    torch.manual_seed(0)
    word_mask = torch.ones(200, 50, dtype=torch.bool)
    gold = torch.zeros(200, 50, dtype=torch.bool)
    gold[:, 0] = True
    share = choose_for_training(torch.full((200, 50), -5.0), gold, word_mask)[:, 1:].float().mean()
    assert abs(float(share) - RANDOM_SHARE) < 0.01
    hard = choose_for_training(torch.full((200, 50), 5.0), gold, word_mask)[:, 1:].float().mean()
    assert float(hard) > MOST_SHARE - 0.01


def test_candidates_are_packed_in_their_order() -> None:
    words = torch.arange(2 * 4 * 3).view(2, 4, 3).float()
    chosen = torch.tensor([[True, False, True, True], [False, True, False, False]])
    packed = pad_candidates(list(candidates_by_sentence(words, chosen)))
    assert packed.counts.tolist() == [3, 1]
    assert packed.positions.tolist() == [[0, 2, 3], [1, 0, 0]]
    assert torch.equal(packed.words[0], words[0, [0, 2, 3]])
    assert torch.equal(packed.words[1, 0], words[1, 1])
