"""Quantize an exported network to 8 bits.

Products with weights run on integers. Their scales are measured here, once, on typical text. Dynamic quantization
measures them on each batch, so the entities of a text would depend on the other texts of its batch. Before that,
SmoothQuant (Xiao et al. 2023) evens out columns with large values. All other weights are stored in 8 bits too, with a
scale per row, and converted to floats.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, NodeProto, TensorProto, helper, numpy_helper
from onnxruntime import GraphOptimizationLevel, InferenceSession, SessionOptions
from onnxruntime.quantization import CalibrationDataReader, CalibrationMethod, QuantFormat, QuantType, quantize_static

Inputs = dict[str, NDArray[Any]]  # of the network, by name
PACKED_SIZE = 4096  # numbers in the smallest tensor that is packed
SMOOTH = 0.8  # share of the unevenness that moves from the activations into the weights
LEAST = 1e-6  # keeps scales positive


def quantize(path: Path, batches: Sequence[Inputs]) -> None:
    """Quantize the network in the file to 8 bits, with scales measured on the batches."""
    _fold_constants(path)
    model = onnx.load(path)
    _smooth(model, batches)
    onnx.save(model, path)
    products = [node.name for node in _products(model)]
    quantize_static(
        str(path),
        str(path),
        _Reader(batches),
        quant_format=QuantFormat.QDQ,
        nodes_to_quantize=products,
        op_types_to_quantize=["MatMul"],
        per_channel=True,
        reduce_range=True,  # weights of 7 bits: with 8, sums overflow on processors that only have AVX2
        activation_type=QuantType.QUInt8,
        weight_type=QuantType.QInt8,
        calibrate_method=CalibrationMethod.MinMax,
        extra_options={"OpTypesToExcludeOutputQuantization": ["MatMul"]},
    )
    model = onnx.load(path)
    _pack(model)
    onnx.save(model, path)


class _Reader(CalibrationDataReader):  # type: ignore[misc]
    def __init__(self, batches: Iterable[Inputs]) -> None:
        self.batches = iter(batches)

    def get_next(self) -> Inputs | None:
        return next(self.batches, None)


def _fold_constants(path: Path) -> None:
    """Compute what depends on weights alone. The exporter leaves nodes that cut and transpose weights of all rounds."""
    options = SessionOptions()
    options.graph_optimization_level = GraphOptimizationLevel.ORT_ENABLE_BASIC
    options.optimized_model_filepath = str(path)
    InferenceSession(path.read_bytes(), options, providers=["CPUExecutionProvider"])


def _products(model: ModelProto) -> Iterator[NodeProto]:
    """Yield the matrix products of words or cells with weights."""
    weights = {tensor.name for tensor in model.graph.initializer if len(tensor.dims) == 2}
    for node in model.graph.node:
        if node.op_type == "MatMul" and node.input[1] in weights:
            yield node


def _smooth(model: ModelProto, batches: Iterable[Inputs]) -> None:
    """Rewrite x W as (x / s) (s W), where s moves large columns of x into W. Do not change shared weights."""
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer}
    uses = Counter(name for node in graph.node for name in node.input)
    products: dict[str, list[NodeProto]] = defaultdict(list)  # by the name of x
    for node in _products(model):
        if uses[node.input[1]] == 1:
            products[node.input[0]].append(node)
    maxima = _column_maxima(model, list(products), batches)
    divisions: dict[str, NodeProto] = {}  # x / s, by the name of x
    for name, nodes in products.items():
        matrices = [numpy_helper.to_array(weights[node.input[1]]) for node in nodes]
        weight_maxima = np.maximum(np.max([np.abs(matrix).max(axis=1) for matrix in matrices], axis=0), LEAST)
        scales = np.maximum(maxima[name], LEAST) ** SMOOTH / weight_maxima ** (1 - SMOOTH)
        graph.initializer.append(numpy_helper.from_array((1 / scales).astype(np.float32), f"{name}.smooth"))
        divisions[name] = helper.make_node("Mul", [name, f"{name}.smooth"], [f"{name}.even"])
        for node, matrix in zip(nodes, matrices, strict=True):
            scaled = (matrix * scales[:, None]).astype(np.float32)
            weights[node.input[1]].CopyFrom(numpy_helper.from_array(scaled, node.input[1]))
            node.input[0] = f"{name}.even"
    nodes = list(graph.node)
    del graph.node[:]
    graph.node.extend(divisions[tensor.name] for tensor in graph.input if tensor.name in divisions)
    for node in nodes:
        graph.node.append(node)
        graph.node.extend(divisions[name] for name in node.output if name in divisions)


def _column_maxima(model: ModelProto, names: list[str], batches: Iterable[Inputs]) -> dict[str, NDArray[np.floating]]:
    """Return the largest absolute value of each column of the named tensors, over all batches."""
    probe = ModelProto()
    probe.CopyFrom(model)
    probe.graph.output.extend(helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in names)
    session = InferenceSession(probe.SerializeToString(), providers=["CPUExecutionProvider"])
    maxima: dict[str, NDArray[np.floating]] = {}
    for batch in batches:
        for name, values in zip(names, session.run(names, batch), strict=True):
            batch_maxima = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            maxima[name] = np.maximum(maxima.get(name, batch_maxima), batch_maxima)
    return maxima


def _pack(model: ModelProto) -> None:
    """Store the other weights as bytes with a scale per row."""
    graph = model.graph
    packed = []
    for tensor in list(graph.initializer):
        if tensor.data_type == TensorProto.FLOAT and len(tensor.dims) > 1 and np.prod(tensor.dims) >= PACKED_SIZE:
            values = numpy_helper.to_array(tensor)
            scales = np.maximum(np.abs(values).max(axis=-1, keepdims=True) / 127, np.finfo(np.float32).tiny)
            graph.initializer.remove(tensor)
            graph.initializer.append(
                numpy_helper.from_array(np.round(values / scales).astype(np.int8), _bytes(tensor.name))
            )
            graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), _scales(tensor.name)))
            packed.append(tensor.name)
    nodes: list[NodeProto] = []
    for node in graph.node:
        name = node.input[0] if node.input else ""
        if node.op_type == "Gather" and name in packed:  # convert only the rows of the text's pieces
            rows, row_scales = _bytes(node.output[0]), _scales(node.output[0])
            nodes.append(helper.make_node("Gather", [_bytes(name), node.input[1]], [rows], axis=0))
            nodes.append(helper.make_node("Gather", [_scales(name), node.input[1]], [row_scales], axis=0))
            nodes += _floats(rows, row_scales, node.output[0])
        else:
            nodes.append(node)
    used = {name for node in nodes for name in node.input}
    on_load = [node for name in packed if name in used for node in _floats(_bytes(name), _scales(name), name)]
    del graph.node[:]
    graph.node.extend([*on_load, *nodes])  # ONNX Runtime computes constant nodes once, when it loads


def _floats(bytes: str, scales: str, result: str) -> list[NodeProto]:
    """Return the nodes that compute the tensor `result` as bytes × scales."""
    cast = helper.make_node("Cast", [bytes], [f"{bytes}.float"], to=TensorProto.FLOAT)
    return [cast, helper.make_node("Mul", [f"{bytes}.float", scales], [result])]


def _bytes(name: str) -> str:
    return f"{name}.bytes"


def _scales(name: str) -> str:
    return f"{name}.scales"
