"""What the paper reports (Liu et al., TOE, arXiv:2211.00684), to stand beside figures of one's own.

Precision, recall and F1 are in percent, of exact match. Table 1 is in `gridner.corpus.statistics`. Figure 4 is a
picture without numbers.
"""

from __future__ import annotations

from typing import Literal, get_args

Corpus = Literal["cadec", "share13", "share14"]
CORPORA: tuple[Corpus, ...] = get_args(Corpus)
Triple = tuple[float | None, float | None, float | None]

_NONE: Triple = (None, None, None)


def _by_corpus(*values: Triple) -> dict[Corpus, Triple]:
    return dict(zip(CORPORA, values, strict=True))


# Table 3, on test: P, R, F1
COMPARISON: dict[str, dict[Corpus, Triple]] = {
    "Tang et al. (2018)": _by_corpus((67.80, 64.99, 66.36), _NONE, _NONE),
    "Wang and Lu (2019)": _by_corpus((72.10, 48.40, 58.00), (83.80, 60.40, 70.30), (79.10, 70.70, 74.70)),
    "Yan et al. (2021)": _by_corpus((70.08, 71.21, 70.64), (82.09, 77.42, 79.69), (77.20, 83.75, 80.34)),
    "Fei et al. (2021)": _by_corpus((75.50, 71.80, 72.40), (87.90, 77.20, 80.30), _NONE),
    "Li et al. (2021)": _by_corpus((None, None, 69.90), (None, None, 82.50), _NONE),
    "Dai et al. (2020)": _by_corpus((68.90, 69.00, 69.00), (80.50, 75.00, 77.70), (78.10, 81.20, 79.60)),
    "Wang et al. (2021)": _by_corpus((70.50, 72.50, 71.50), (84.30, 78.20, 81.20), (78.70, 82.15, 80.39)),
    "W2NER": _by_corpus((74.09, 72.35, 73.21), (85.57, 79.68, 82.52), (79.88, 83.71, 81.75)),
    "TOE": _by_corpus((77.77, 70.66, 74.04), (85.18, 80.12, 82.57), (82.26, 82.57, 82.41)),
}
# the same on dev, in brackets there
COMPARISON_DEV: dict[str, dict[Corpus, Triple]] = {
    "W2NER": _by_corpus((70.59, 68.45, 69.50), (80.20, 77.83, 78.99), (82.29, 81.37, 81.82)),
    "TOE": _by_corpus((74.22, 67.79, 70.86), (81.38, 77.59, 79.42), (83.77, 82.22, 82.98)),
}

# Table 4, by the row's name here: on test, then on dev
ABLATION: dict[str, tuple[dict[Corpus, Triple], dict[Corpus, Triple]]] = {
    "best": (COMPARISON["TOE"], COMPARISON_DEV["TOE"]),
    "without-trem": (
        _by_corpus((73.44, 72.19, 72.80), (84.85, 79.31, 81.98), (79.50, 83.36, 81.38)),
        _by_corpus((69.69, 69.86, 69.77), (79.67, 77.44, 78.53), (82.24, 79.90, 81.06)),
    ),
    "rounds-2": (
        _by_corpus((75.75, 70.93, 73.25), (85.84, 77.55, 81.38), (79.91, 83.44, 81.63)),
        _by_corpus((71.41, 69.15, 70.26), (81.07, 75.98, 78.31), (82.99, 80.52, 81.73)),
    ),
    "rounds-4": (
        _by_corpus((75.84, 69.12, 72.23), (84.80, 78.36, 81.41), (81.00, 82.91, 81.93)),
        _by_corpus((72.88, 67.35, 69.95), (79.22, 77.24, 78.11), (84.15, 79.07, 81.53)),
    ),
    "nnw-thw": (
        _by_corpus((73.78, 72.62, 73.20), (84.33, 79.68, 81.94), (77.72, 84.97, 81.18)),
        _by_corpus((69.66, 69.73, 69.69), (79.26, 78.08, 78.67), (81.82, 82.19, 81.99)),
    ),
    "pnw-htw": (
        _by_corpus((74.91, 71.47, 73.12), (84.89, 79.46, 82.07), (78.81, 84.27, 81.44)),
        _by_corpus((70.54, 68.50, 69.49), (80.20, 77.83, 78.99), (82.29, 81.37, 81.82)),
    ),
    "links-t-ends-t": (
        _by_corpus((78.10, 68.37, 72.90), (86.07, 79.13, 82.45), (83.02, 81.72, 82.37)),
        _by_corpus((73.35, 66.33, 69.65), (81.47, 76.28, 78.77), (86.06, 77.58, 81.60)),
    ),
    "links-l-ends-t": (
        _by_corpus((77.93, 67.38, 72.23), (85.01, 79.52, 82.17), (82.58, 81.24, 81.91)),
        _by_corpus((73.33, 66.07, 69.48), (80.56, 77.04, 78.73), (84.66, 78.11, 81.25)),
    ),
    "links-l-ends-l": (
        _by_corpus((76.18, 70.66, 73.28), (84.55, 80.19, 82.31), (81.05, 83.25, 82.14)),
        _by_corpus((71.25, 68.13, 69.63), (80.47, 77.47, 78.93), (84.01, 79.16, 81.51)),
    ),
    "maps-2": (
        _by_corpus((75.58, 69.87, 72.61), (85.27, 77.88, 81.38), (80.85, 81.39, 81.11)),
        _by_corpus((71.80, 68.28, 70.00), (80.39, 76.18, 78.20), (84.49, 79.90, 82.13)),
    ),
    "maps-6": (
        _by_corpus((76.26, 70.28, 73.14), (84.54, 79.09, 81.72), (79.83, 83.36, 81.55)),
        _by_corpus((71.88, 67.57, 69.65), (79.41, 76.78, 78.07), (83.33, 80.12, 81.69)),
    ),
    "maps-8": (
        _by_corpus((76.04, 69.19, 72.44), (85.29, 78.26, 81.62), (80.50, 83.15, 81.80)),
        _by_corpus((72.13, 67.46, 69.71), (80.92, 76.78, 78.79), (83.59, 80.34, 81.92)),
    ),
}

# Table 5, F1 on test of discontinuous entities whose overlap is none, left, right, multiple
OVERLAP: dict[str, dict[Corpus, tuple[float, float, float, float]]] = {
    "Wang et al. (2021)": {
        "cadec": (7.69, 42.86, 62.22, 0.00),
        "share13": (48.26, 64.07, 13.04, 29.63),
        "share14": (40.32, 66.15, 45.80, 0.00),
    },
    "W2NER": {
        "cadec": (32.79, 46.51, 51.43, 17.98),
        "share13": (48.48, 69.60, 58.89, 33.33),
        "share14": (50.38, 62.40, 68.77, 0.00),
    },
    "TOE": {
        "cadec": (38.87, 48.48, 56.79, 0.00),
        "share13": (50.21, 69.71, 49.59, 36.36),
        "share14": (53.29, 66.32, 72.31, 0.00),
    },
}

# Table 6, % of the errors of a block: wrong with head and tail right, wrong, missed with head and tail found, missed
ERRORS: dict[str, dict[Corpus, tuple[float, float, float, float]]] = {
    "all": {
        "cadec": (4.05, 40.28, 2.43, 53.24),
        "share13": (0.50, 40.33, 0.50, 58.67),
        "share14": (1.01, 52.29, 0.91, 45.79),
    },
    "discontinuous": {
        "cadec": (9.74, 15.48, 5.73, 69.05),
        "share13": (5.06, 17.05, 3.94, 73.95),
        "share14": (6.87, 35.23, 4.65, 53.25),
    },
    "flat": {
        "cadec": (0.00, 50.14, 0.00, 49.86),
        "share13": (0.00, 39.96, 0.00, 60.04),
        "share14": (0.00, 58.92, 0.00, 41.08),
    },
    "overlapped": {
        "cadec": (12.53, 28.46, 1.76, 57.25),
        "share13": (4.70, 17.10, 4.27, 73.93),
        "share14": (3.47, 34.74, 2.65, 59.14),
    },
}

# Table 7, sentences a second in training and in prediction, on a GPU (RTX 3090)
EFFICIENCY: dict[str, tuple[float, float]] = {
    "Dai et al. (2020)": (24.7, 66.5),
    "Yan et al. (2021)": (63.6, 19.2),
    "Wang et al. (2021)": (39.3, 109.7),
    "W2NER": (116.1, 365.7),
    "TOE": (78.5, 195.1),
}
