"""The forward pass after the language model, written from the paper's equations with plain loops. Slow and obvious.

It takes the weights by name and one sentence, so nothing about batches, masks or fast ways of computing can be shared
with the model that it judges.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Weights = dict[str, Array]


def linear(w: Weights, name: str, x: Array) -> Array:
    y = np.array([sum(a * b for a, b in zip(row, x, strict=True)) for row in w[f"{name}.weight"]])
    return y + w[f"{name}.bias"] if f"{name}.bias" in w else y


def gelu(x: Array) -> Array:
    return np.array([0.5 * v * (1 + math.erf(v / math.sqrt(2))) for v in x.ravel()]).reshape(x.shape)


def sigmoid(x: Array) -> Array:
    return np.array([1 / (1 + math.exp(-v)) for v in x])


def standardise(x: Array) -> Array:
    deviation = math.sqrt(float(((x - x.mean()) ** 2).mean()) + 1e-5)
    return np.array([(v - x.mean()) / deviation for v in x])


def lstm(w: Weights, name: str, words: list[Array]) -> list[Array]:
    size = w[f"{name}.weight_hh_l0"].shape[1]
    h, c = np.zeros(size), np.zeros(size)
    out = []
    for x in words:
        gates = (
            w[f"{name}.weight_ih_l0"] @ x
            + w[f"{name}.bias_ih_l0"]
            + w[f"{name}.weight_hh_l0"] @ h
            + w[f"{name}.bias_hh_l0"]
        )
        i, f, g, o = np.split(gates, 4)
        c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
        h = sigmoid(o) * np.tanh(c)
        out.append(h)
    return out


def encode(w: Weights, layers: list[Array], pieces_of_words: list[list[int]]) -> list[Array]:
    """Eq. 1: the mean of the last layers, max-pooled over each word's pieces, then a BiLSTM."""
    states = np.mean(layers, axis=0)
    words = [np.max([states[piece] for piece in pieces], axis=0) for pieces in pieces_of_words]
    ahead = lstm(w, "encoder.forwards", words)
    back = lstm(w, "encoder.backwards", words[::-1])[::-1]
    return [np.concatenate(pair) for pair in zip(ahead, back, strict=True)]


def bucket(distance: int) -> int:
    if distance == 0:
        return 19
    power = min(9, int(math.log2(abs(distance))) + 1)
    return power if distance > 0 else power + 9


def convolve(
    w: Weights,
    subjects: list[Array],
    objects: list[Array],
    positions: list[int],
    dilations: tuple[int, ...],
    *,
    chained: bool,
) -> list[list[Array]]:
    """Eq. 3 to 5."""
    n = len(subjects)
    cells: list[list[Array]] = [[np.empty(0)] * n for _ in range(n)]
    for i in range(n):
        gain, bias = linear(w, "convolution.gain", subjects[i]), linear(w, "convolution.bias", subjects[i])
        for j in range(n):
            v = gain * standardise(objects[j]) + bias
            wp = w["convolution.distances.weight"][bucket(positions[i] - positions[j])]
            gp = w["convolution.regions.weight"][2 if i >= j else 1]
            cells[i][j] = gelu(linear(w, "convolution.mlp", np.concatenate([v, wp, gp])))
    outputs: list[list[list[Array]]] = []
    for number, dilation in enumerate(dilations):
        kernel, offset = w[f"convolution.dilated.{number}.weight"][:, 0], w[f"convolution.dilated.{number}.bias"]
        output: list[list[Array]] = [[np.empty(0)] * n for _ in range(n)]
        for i in range(n):
            for j in range(n):
                total = offset.copy()
                for a in (-1, 0, 1):
                    for b in (-1, 0, 1):
                        row, column = i + a * dilation, j + b * dilation
                        if 0 <= row < n and 0 <= column < n:
                            total = total + kernel[:, a + 1, b + 1] * cells[row][column]
                output[i][j] = gelu(total)
        outputs.append(output)
        if chained:
            cells = output
    return [[np.concatenate([output[i][j] for output in outputs]) for j in range(n)] for i in range(n)]


def attend(w: Weights, name: str, queries: list[Array], keys: list[Array], heads: int) -> list[Array]:
    width = len(queries[0])
    size = width // heads
    projected = [linear(w, f"{name}.key_value", key) for key in keys]
    out = []
    for query in queries:
        q = linear(w, f"{name}.query", query)
        parts = []
        for head in range(heads):
            at = slice(head * size, (head + 1) * size)
            logits = np.array([q[at] @ p[:width][at] / math.sqrt(size) for p in projected])
            weights = np.exp(logits - logits.max())
            weights = weights / weights.sum()
            parts.append(sum(a * p[width:][at] for a, p in zip(weights, projected, strict=True)))
        out.append(linear(w, f"{name}.out", np.concatenate(parts)))
    return out


def normalise(w: Weights, name: str, words: list[Array]) -> list[Array]:
    return [standardise(word) * w[f"{name}.weight"] + w[f"{name}.bias"] for word in words]


def added(a: list[Array], b: list[Array]) -> list[Array]:
    return [x + y for x, y in zip(a, b, strict=True)]


def feed_back(
    w: Weights, role: str, pooled: list[Array], before: list[Array], first: list[Array], heads: int
) -> list[Array]:
    """Eq. 8 to 11 for one role: the words that entered the round, corrected."""
    recovered = [linear(w, f"trem.{role}.recover", p) for p in pooled]
    among = attend(w, f"trem.{role}.tags_attend", recovered, recovered, heads)
    among = normalise(w, f"trem.{role}.tags_norm", added(recovered, among))
    mixed = attend(w, f"trem.{role}.words_attend", among, first, heads)
    mixed = normalise(w, f"trem.{role}.words_norm", added(among, mixed))
    return added(normalise(w, f"trem.{role}.norm", before), [w[f"trem.{role}.scale"] * word for word in mixed])


def feed_back_to_tags(w: Weights, role: str, pooled: list[Array], first: list[Array], heads: int) -> list[Array]:
    """The other reading of Eq. 11: the recovered tags, corrected."""
    recovered = [linear(w, f"trem.{role}.recover", p) for p in pooled]
    among = attend(w, f"trem.{role}.tags_attend", recovered, recovered, heads)
    mixed = attend(w, f"trem.{role}.words_attend", among, first, heads)
    return normalise(w, f"trem.{role}.norm", added(recovered, mixed))


def is_candidate(w: Weights, word: Array) -> bool:
    hidden = gelu(linear(w, "candidates.hidden", word))
    return bool((linear(w, "candidates.out", hidden) > w["candidates.offset"]).any())


def tag(
    w: Weights,
    words: list[Array],
    positions: list[int],
    *,
    rounds: int,
    dilations: tuple[int, ...],
    heads: int,
    trem: bool,
    chained: bool,
) -> Array:
    """Scores [n, n, labels] of words that stand at some positions in a sentence."""
    n = len(words)
    projected = "to_subjects.weight" in w
    first_s = [linear(w, "to_subjects", h) for h in words] if projected else words
    first_o = [linear(w, "to_objects", h) for h in words] if projected else words
    s, o = first_s, first_o
    grid = convolve(w, s, o, positions, dilations, chained=chained)
    if trem:
        tf: list[list[Array]] = []
        for number in range(rounds):
            if number:
                rows = [np.max(tf[i], axis=0) for i in range(n)]
                columns = [np.max([tf[i][j] for i in range(n)], axis=0) for j in range(n)]
                if "trem.subject.scale" in w:
                    s = feed_back(w, "subject", rows, s, first_s, heads)
                    o = feed_back(w, "object", columns, o, first_o, heads)
                else:
                    s = feed_back_to_tags(w, "subject", rows, first_s, heads)
                    o = feed_back_to_tags(w, "object", columns, first_o, heads)
                grid = convolve(w, s, o, positions, dilations, chained=chained)
            tf = [[linear(w, "trem.maps", cell) for cell in row] for row in grid]  # Eq. 6 and 7
        grid = tf
    scores = []
    for i in range(n):
        row = []
        for j in range(n):
            by_grid = linear(w, "predictor.grid_out", gelu(linear(w, "predictor.grid_hidden", grid[i][j])))
            s_i, o_j = gelu(linear(w, "predictor.subject", first_s[i])), gelu(linear(w, "predictor.object", first_o[j]))
            u = w["predictor.bilinear.weight"].reshape(len(by_grid), len(o_j), len(s_i))
            biaffine = np.array([o_j @ u[label] @ s_i for label in range(len(by_grid))])
            row.append(
                by_grid + biaffine + linear(w, "predictor.from_subject", s_i) + linear(w, "predictor.from_object", o_j)
            )
        scores.append(row)
    return np.array(scores)
