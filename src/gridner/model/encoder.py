"""The encoder module: pieces → a language model → words by max-pooling → a BiLSTM. Equation 1."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from gridner.model.dropout import Dropout, quicken


class Encoder(nn.Module):
    """A language model of transformers, and a BiLSTM of total width `width` over its words."""

    def __init__(self, *, language_model: nn.Module, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        quicken(language_model)
        self.language_model = language_model
        self.layers = layers  # how many of the last layers are averaged
        self.dropout = Dropout(dropout)
        hidden = int(language_model.config.hidden_size)  # type: ignore[union-attr, arg-type]
        self.forwards = nn.LSTM(hidden, width // 2, batch_first=True)
        self.backwards = nn.LSTM(hidden, width // 2, batch_first=True)

    def forward(self, pieces: Tensor, piece_mask: Tensor, word_pieces: Tensor, lengths: Tensor) -> Tensor:
        """Return words H [B, n, width].

        Pieces and their mask are [B, p]; word_pieces [B, n, m] are the places of each word's pieces, the first repeated
        where a word has fewer than m; lengths [B] are in words.
        """
        return self.context(self.dropout(self.pool(pieces, piece_mask, word_pieces)), lengths)

    def pool(self, pieces: Tensor, piece_mask: Tensor, word_pieces: Tensor) -> Tensor:
        """Return the words [B, n, width of the language model] as the maximum over their pieces."""
        output = self.language_model(
            input_ids=pieces, attention_mask=piece_mask.long(), output_hidden_states=self.layers > 1
        )
        states = (
            torch.stack(output.hidden_states[-self.layers :]).mean(dim=0)
            if self.layers > 1
            else output.last_hidden_state
        )
        row = torch.arange(states.shape[0], device=states.device) * states.shape[1]
        places = word_pieces + row[:, None, None]  # among the pieces of all sentences
        words: Tensor = nn.functional.embedding(places, states.flatten(0, 1)).amax(dim=2)
        return words

    def context(self, words: Tensor, lengths: Tensor) -> Tensor:
        """Run the BiLSTM. Reversing each sentence within its own length keeps padding out of both directions."""
        n = words.shape[1]
        places = torch.arange(n, device=words.device).unsqueeze(0)
        backwards = torch.where(places < lengths.unsqueeze(1), lengths.unsqueeze(1) - 1 - places, places)
        index = backwards.unsqueeze(-1)
        reverse = words.gather(1, index.expand(-1, -1, words.shape[-1]))
        ahead, _ = self.forwards(words)
        back, _ = self.backwards(reverse)
        return torch.cat((ahead, back.gather(1, index.expand(-1, -1, back.shape[-1]))), dim=-1)
