"""Snapshots: the state of a training in one file, written atomically, from which a killed run resumes.

Weights and optimizer moments are tensors, the rest is JSON in the same safetensors file. Random states and a scheduler
need no saving: what a step draws depends on the seed and its number.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file

from gridner.errors import FormatError, OutputError

STATE, BEST = "state.safetensors", "best-{}.safetensors"  # with the epoch; the state names the one it belongs to
SHOWN = 3  # differences in an error message
MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # of AdamW


@dataclass(slots=True)
class State:
    """The progress of a training."""

    identity: dict[str, Any]  # of the run: settings, data, seed
    processes: int = 1
    epoch: int = 0  # number of finished epochs
    step: int = 0  # within the epoch
    loss: float = 0.0  # summed over the cells of this epoch
    cells: float = 0
    seconds: float = 0.0  # spent training, before and after interruptions
    best: float = -1.0  # dev F1
    best_epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)  # one row per epoch
    scaler: dict[str, float] = field(default_factory=dict)  # state of the gradient scaler of mixed precision
    steps: int = 0  # of the whole run, if a time limit decided them


@dataclass(frozen=True, slots=True)
class Training:
    """The network and optimizer whose tensors a snapshot holds."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer


def save_state(folder: Path, state: State, training: Training) -> None:
    """Write the snapshot, and remove the best weights of earlier epochs."""
    model = training.model
    tensors = {f"model/{name}": tensor for name, tensor in _distinct_tensors(model).items()}
    for name, parameter in model.named_parameters():
        for moment, tensor in training.optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{name}/{moment}"] = tensor
    _save(folder / STATE, tensors, {"state": json.dumps(asdict(state))})
    for best in folder.glob(BEST.format("*")):
        if best.name != BEST.format(state.best_epoch):
            best.unlink()


def read_state(folder: Path, identity: Mapping[str, Any]) -> State | None:
    """Return the progress of a snapshot without its tensors, or None if there is no snapshot.

    Raise FormatError if the snapshot belongs to another run.
    """
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            state = State(**json.loads(file.metadata()["state"]))
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected a snapshot of this run") from None
    if differing := differences(state.identity, identity):
        raise FormatError(f"{path}: of a run with {differing}, expected the same settings and data to resume")
    return state


def load_state(folder: Path, identity: Mapping[str, Any], processes: int, training: Training) -> State | None:
    """Load the snapshot's tensors into the network and optimizer. Return None if there is no snapshot."""
    path = folder / STATE
    state = read_state(folder, identity)
    if state is None:
        return None
    try:
        if state.processes != processes:
            raise FormatError(f"{path}: of a run with {state.processes} processes, expected as many, not {processes}")
        best = folder / BEST.format(state.best_epoch)
        if state.best_epoch and not best.is_file():
            raise FormatError(f"{best}: missing, expected the weights of the best epoch beside {STATE}")
        tensors = load_file(path)
        _restore(training.model, _with_prefix("model/", tensors))
        for name, parameter in training.model.named_parameters():
            moments = {moment: tensors.get(f"optimizer/{name}/{moment}") for moment in MOMENTS}
            saved = {
                moment: _on_device_of(tensor, parameter) for moment, tensor in moments.items() if tensor is not None
            }
            if saved:
                training.optimizer.state[parameter] = saved
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected a snapshot of this run") from None
    return state


def save_best(folder: Path, model: torch.nn.Module, epoch: int) -> None:
    """Save the weights of the best epoch so far. The previous ones stay until a saved state names these."""
    _save(folder / BEST.format(epoch), model.state_dict(), {})


def load_best(folder: Path, model: torch.nn.Module, epoch: int) -> None:
    """Load the weights of the best epoch."""
    path = folder / BEST.format(epoch)
    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected the weights of the best epoch") from None


def differences(saved: Mapping[str, Any], current: Mapping[str, Any]) -> str:
    """Describe how two runs differ: "train.rate 0.001 (here 0.002)". Return "" if they are equal."""
    before, now = dict(_flat(saved)), dict(_flat(current))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    shown = [f"{name} {_short(before.get(name))} (here {_short(now.get(name))})" for name in names[:SHOWN]]
    return ", ".join(shown) + (f" and {len(names) - SHOWN} more differences" if len(names) > SHOWN else "")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _short(value: Any) -> str:
    return "none" if value is None else str(value)[:16]


def _distinct_tensors(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Return the tensors of a network. One with two names, such as tied embeddings, comes once, under its first."""
    by_address: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in model.state_dict().items():
        by_address.setdefault(tensor.data_ptr() if tensor.numel() else id(tensor), (name, tensor))
    return dict(by_address.values())


def _restore(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    own = _distinct_tensors(model)
    if tensors.keys() != own.keys():
        raise KeyError(f"{len(tensors.keys() ^ own.keys())} weights too many or too few")
    for name, tensor in tensors.items():
        own[name].copy_(tensor)


def _with_prefix(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _on_device_of(tensor: torch.Tensor, parameter: torch.nn.Parameter) -> torch.Tensor:
    return tensor if tensor.ndim == 0 else tensor.to(parameter.device)  # AdamW wants step counts on the CPU


def _save(path: Path, tensors: Mapping[str, Any], metadata: dict[str, str]) -> None:
    part = path.with_name(f"{path.name}.part")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, part, metadata=metadata)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error})") from None
