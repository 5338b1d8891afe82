"""Eight lanes at a time: the inner loops of the kd-tree, written as vector code.

Numba's loop vectoriser does poorly on rows of eight, and rows of eight are all a tree of eight children a node
ever works on. So these four loops over the columns are given to LLVM as operations on vectors of eight numbers,
which it maps to whatever the processor has. Each lane does plain IEEE arithmetic in ascending column order: the
result is the one a scalar loop would give, bit for bit.

Every function writes its eight results to `out` and returns a bit mask of the lanes that pass the limit.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

LANES = 8

_DOUBLE = ir.DoubleType()
_INT64 = ir.IntType(64)
_VECTOR = ir.VectorType(_DOUBLE, LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
_WIDTH = ir.Constant(_INT64, LANES)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, value=array).data


def _load_lanes(builder: Any, base: Any, index: Any) -> Any:
    address = builder.bitcast(builder.gep(base, [index]), _VECTOR.as_pointer())
    return builder.load(address, align=8)


def _spread(builder: Any, scalar: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, everywhere)


def _spread_item(builder: Any, base: Any, index: Any) -> Any:
    return _spread(builder, builder.load(builder.gep(base, [index])))


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _add_to(builder: Any, total: Any, term: Any) -> None:
    builder.store(builder.fadd(builder.load(total), term), total)


def _store_and_compare(builder: Any, total: Any, out: Any, relation: str, limit: Any) -> Any:
    builder.store(total, builder.bitcast(out, _VECTOR.as_pointer()), align=8)
    passing = builder.fcmp_ordered(relation, total, _spread(builder, limit))
    return builder.zext(builder.bitcast(passing, ir.IntType(LANES)), _INT64)


def _squared_distances(relation: str) -> Any:
    @intrinsic
    def squared_distances(_context, values, offset, stride, q, limit, out):
        signature = types.int64(values, types.intp, types.intp, q, types.float64, out)

        def generate(context, builder, signature, arguments):
            values, offset, stride, q, limit, out = arguments
            base = _data(context, builder, signature.args[0], values)
            q_array = context.make_array(signature.args[3])(context, builder, value=q)
            target = _data(context, builder, signature.args[5], out)
            total = cgutils.alloca_once_value(builder, _ZEROS)
            with cgutils.for_range(builder, builder.extract_value(q_array.shape, 0)) as loop:
                x = _load_lanes(builder, base, builder.add(offset, builder.mul(loop.index, stride)))
                difference = builder.fsub(x, _spread_item(builder, q_array.data, loop.index))
                _add_to(builder, total, builder.fmul(difference, difference))
            return _store_and_compare(builder, builder.load(total), target, relation, limit)

        return signature, generate

    return squared_distances


# squared_distances_*(values, offset, stride, q, limit, out): |x - q|^2 of the eight points that start at
# values[offset], column j a stride further each; mask of those at most / at least the limit.
squared_distances_at_most = _squared_distances("<=")
squared_distances_at_least = _squared_distances(">=")


@intrinsic
def box_gaps_at_most(_context, boxes, offset, w, limit, out):
    """Squared distance from w to each of a node's eight boxes; mask of those within the limit."""
    signature = types.int64(boxes, types.intp, w, types.float64, out)

    def generate(context, builder, signature, arguments):
        boxes, offset, w, limit, out = arguments
        base = _data(context, builder, signature.args[0], boxes)
        w_array = context.make_array(signature.args[2])(context, builder, value=w)
        columns = builder.extract_value(w_array.shape, 0)
        target = _data(context, builder, signature.args[4], out)
        total = cgutils.alloca_once_value(builder, _ZEROS)
        high_rows = builder.add(offset, builder.mul(columns, _WIDTH))
        with cgutils.for_range(builder, columns) as loop:
            row = builder.mul(loop.index, _WIDTH)
            x = _spread_item(builder, w_array.data, loop.index)
            below = builder.fsub(_load_lanes(builder, base, builder.add(offset, row)), x)
            above = builder.fsub(x, _load_lanes(builder, base, builder.add(high_rows, row)))
            gap = _larger(builder, _larger(builder, below, above), _ZEROS)
            _add_to(builder, total, builder.fmul(gap, gap))
        return _store_and_compare(builder, builder.load(total), target, "<=", limit)

    return signature, generate


@intrinsic
def box_reaches_at_least(_context, boxes, offset, top, slope, rows, constant, limit, out):
    """The largest |x - q|^2 that each of a node's eight boxes may hold; mask of those that reach the limit.

    boxes[top] holds the largest |z|^2 of each box, `slope` is -2w, and `rows` picks for each column the face of
    the box (low or high) on which slope times z is largest.
    """
    signature = types.int64(
        boxes, types.intp, types.intp, slope, rows, types.float64, types.float64, out
    )

    def generate(context, builder, signature, arguments):
        boxes, offset, top, slope, rows, constant, limit, out = arguments
        base = _data(context, builder, signature.args[0], boxes)
        slope_array = context.make_array(signature.args[3])(context, builder, value=slope)
        row_data = _data(context, builder, signature.args[4], rows)
        target = _data(context, builder, signature.args[7], out)
        start = builder.fadd(_load_lanes(builder, base, top), _spread(builder, constant))
        total = cgutils.alloca_once_value(builder, start)
        with cgutils.for_range(builder, builder.extract_value(slope_array.shape, 0)) as loop:
            row = builder.load(builder.gep(row_data, [loop.index]))
            z = _load_lanes(builder, base, builder.add(offset, row))
            _add_to(builder, total, builder.fmul(z, _spread_item(builder, slope_array.data, loop.index)))
        return _store_and_compare(builder, builder.load(total), target, ">=", limit)

    return signature, generate
