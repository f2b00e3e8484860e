"""The state of a training, as one file that is whole or not there: a run that is killed goes on from it.

Weights and optimiser as tensors, all else as JSON in the same safetensors file. Neither random states nor a scheduler
are kept: what a step draws follows from the seed and its number.
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

STATE, BEST = "state.safetensors", "best-{}.safetensors"  # with the epoch: a state names the one that it means
SHOWN = 3  # differences
MOMENTS = ("exp_avg", "exp_avg_sq", "step")  # of AdamW


@dataclass(slots=True)
class State:
    """Where a training stands."""

    identity: dict[str, Any]  # of the run: settings, data, seed
    processes: int = 1
    epoch: int = 0  # whole ones that are behind
    step: int = 0  # within the epoch
    loss: float = 0.0  # sum over the cells of this epoch
    cells: float = 0
    seconds: float = 0.0  # spent training, over all starts
    best: float = -1.0  # dev F1
    best_epoch: int = 0
    history: list[dict[str, float]] = field(default_factory=list)  # one for each epoch
    scaler: dict[str, float] = field(default_factory=dict)  # of mixed precision
    steps: int = 0  # of the whole run, where a limit of time has decided


@dataclass(frozen=True, slots=True)
class Training:
    """The tensors of a training."""

    model: torch.nn.Module
    optimizer: torch.optim.Optimizer


def save_state(folder: Path, state: State, training: Training) -> None:
    """Write the snapshot, beside and then over the one before."""
    model = training.model
    tensors = {f"model/{name}": tensor for name, tensor in _once(model).items()}
    for name, parameter in model.named_parameters():
        for moment, tensor in training.optimizer.state.get(parameter, {}).items():
            tensors[f"optimizer/{name}/{moment}"] = tensor
    _save(folder / STATE, tensors, {"state": json.dumps(asdict(state))})
    for best in folder.glob(BEST.format("*")):
        if best.name != BEST.format(state.best_epoch):
            best.unlink()


def read_state(folder: Path, identity: Mapping[str, Any]) -> State | None:
    """Where a snapshot stands, without its tensors; None where there is none. One of another run is refused."""
    path = folder / STATE
    if not path.is_file():
        return None
    try:
        with safe_open(path, framework="pt") as file:
            state = State(**json.loads(file.metadata()["state"]))
    except (SafetensorError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected a snapshot of this run") from None
    if differing := differences(state.identity, identity):
        raise FormatError(f"{path}: of a run with {differing}, expected the same to go on with --resume")
    return state


def load_state(folder: Path, identity: Mapping[str, Any], processes: int, training: Training) -> State | None:
    """Put the snapshot's tensors in place; None where there is no snapshot."""
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
        _restore(training.model, _under("model/", tensors))
        for name, parameter in training.model.named_parameters():
            moments = {moment: tensors.get(f"optimizer/{name}/{moment}") for moment in MOMENTS}
            found = {moment: _beside(tensor, parameter) for moment, tensor in moments.items() if tensor is not None}
            if found:
                training.optimizer.state[parameter] = found
    except (SafetensorError, KeyError, TypeError, ValueError, RuntimeError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected a snapshot of this run") from None
    return state


def save_best(folder: Path, model: torch.nn.Module, epoch: int) -> None:
    """Keep the weights of the best epoch so far; those of the one before stay until a state names these."""
    _save(folder / BEST.format(epoch), model.state_dict(), {})


def load_best(folder: Path, model: torch.nn.Module, epoch: int) -> None:
    """Put the best weights in place."""
    path = folder / BEST.format(epoch)
    try:
        model.load_state_dict(load_file(path))
    except (OSError, SafetensorError, RuntimeError) as error:
        raise FormatError(f"{path}: {str(error)[:200]}, expected the weights of the best epoch") from None


def differences(there: Mapping[str, Any], here: Mapping[str, Any]) -> str:
    """How two runs differ: "train.rate 0.001 (here 0.002)"; empty if they do not."""
    before, now = dict(_flat(there)), dict(_flat(here))
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    said = [f"{name} {_short(before.get(name))} (here {_short(now.get(name))})" for name in names[:SHOWN]]
    return ", ".join(said) + (f" and {len(names) - SHOWN} more differences" if len(names) > SHOWN else "")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value


def _short(value: Any) -> str:
    return "none" if value is None else str(value)[:16]


def _once(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """The tensors of a network; one that has two names, as tied embeddings have, under its first."""
    found: dict[int, tuple[str, torch.Tensor]] = {}
    for name, tensor in model.state_dict().items():
        found.setdefault(tensor.data_ptr() if tensor.numel() else id(tensor), (name, tensor))
    return dict(found.values())


def _restore(model: torch.nn.Module, tensors: Mapping[str, torch.Tensor]) -> None:
    own = _once(model)
    if tensors.keys() != own.keys():
        raise KeyError(f"{len(tensors.keys() ^ own.keys())} weights too many or too few")
    for name, tensor in tensors.items():
        own[name].copy_(tensor)


def _under(prefix: str, tensors: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}


def _beside(tensor: torch.Tensor, parameter: torch.nn.Parameter) -> torch.Tensor:
    return tensor if tensor.ndim == 0 else tensor.to(parameter.device)  # step counts stay where AdamW wants them


def _save(path: Path, tensors: Mapping[str, Any], metadata: dict[str, str]) -> None:
    part = path.with_name(f"{path.name}.part")
    whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    try:
        save_file(whole, part, metadata=metadata)
        part.replace(path)
    except (OSError, SafetensorError) as error:
        part.unlink(missing_ok=True)
        raise OutputError(f"{path}: cannot be written ({error})") from None
