"""The settings of a pretraining."""

from __future__ import annotations

from dataclasses import dataclass

from gridner.errors import UsageError

ZERO = ("seed", "new_pieces")  # settings that may be 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How an encoder is pretrained. One of `steps`, `epochs` and `minutes` says how long."""

    steps: int | None = None
    epochs: float | None = None  # passes over the text, weights of sources counted
    minutes: float | None = None
    length: int = 128  # pieces of a row, special ones included
    batch: int = 32  # rows of a step
    micro_batch: int = 16  # rows that go through the network at once
    mask: float = 0.15  # share of the words that are hidden
    rate: float = 2e-4
    head_rate: float = 5.0  # times the rate, for a fresh head
    warmup: float = 0.06  # share of the steps
    dropout: bool = False  # the encoder's own; text that is seen a few times needs none
    held_out: float = 0.01  # share of the rows
    most_held_out: int = 512  # rows
    new_pieces: int = 0  # frequent words of the text that become pieces of the vocabulary
    looks: int = 20  # at the held-out text, after the one at the start
    seed: int = 1
    snapshot_minutes: float = 10.0

    def __post_init__(self) -> None:
        given = [name for name in ("steps", "epochs", "minutes") if getattr(self, name) is not None]
        if len(given) != 1:
            found = " and ".join(f"--{name}" for name in given) or "none of them"
            raise UsageError(f"how long to train: {found} given; expected one of --steps, --epochs, --minutes")
        for name, low, high in (
            ("steps", 1, 10**9),
            ("epochs", 0, 10**6),
            ("minutes", 0, 10**6),
            ("length", 16, 10**5),
            ("batch", 1, 10**6),
            ("micro_batch", 1, 10**6),
            ("mask", 0, 0.9),
            ("rate", 0, 1),
            ("held_out", 0, 0.5),
            ("new_pieces", 0, 10**5),
            ("looks", 1, 10**6),
            ("seed", 0, 2**31),
        ):
            value = getattr(self, name)
            if value is not None and not (low <= value <= high and (low or value or name in ZERO)):
                option = f"--{name.replace('_', '-')}"
                raise UsageError(
                    f"{option} {value}; expected {'at least' if low else 'more than'} {low}, at most {high}"
                )
