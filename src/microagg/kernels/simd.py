"""Sixteen lanes at a time: the inner loops of the kd-tree, written as vector code.

Numba's loop vectoriser does poorly on rows of sixteen, and rows of sixteen are all that a tree of
sixteen children a node ever works on. So these loops over the columns are given to LLVM as
operations on vectors of sixteen float32, which it maps to whatever the processor has. Each lane
does plain IEEE arithmetic in ascending column order.

Arrays are addressed by the position of their first lane, counted in numbers from the array's start.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba import extending, types
from numba.core import cgutils

LANES = 16

intrinsic: Any = extending.intrinsic  # untyped in numba

_INT64 = ir.IntType(64)
_VECTOR = ir.VectorType(ir.FloatType(), LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)
_WIDTH = ir.Constant(_INT64, LANES)


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, value=array).data


def _length(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return builder.extract_value(
        context.make_array(array_type)(context, builder, value=array).shape, 0
    )


def _load_lanes(builder: Any, base: Any, index: Any) -> Any:
    address = builder.bitcast(builder.gep(base, [index]), _VECTOR.as_pointer())
    return builder.load(address, align=4)


def _spread(builder: Any, scalar: Any) -> Any:
    undefined = ir.Constant(_VECTOR, ir.Undefined)
    first = builder.insert_element(undefined, scalar, ir.Constant(ir.IntType(32), 0))
    everywhere = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
    return builder.shuffle_vector(first, undefined, everywhere)


def _spread_item(builder: Any, base: Any, index: Any) -> Any:
    return _spread(builder, builder.load(builder.gep(base, [index])))


def _larger(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered(">", a, b), a, b)


def _smaller(builder: Any, a: Any, b: Any) -> Any:
    return builder.select(builder.fcmp_ordered("<", a, b), a, b)


def _add_to(builder: Any, total: Any, term: Any) -> None:
    builder.store(builder.fadd(builder.load(total), term), total)


def _store_and_compare(
    context: Any, builder: Any, values: Any, out_type: Any, out: Any, relation: str, limit: Any
) -> Any:
    target = builder.bitcast(_data(context, builder, out_type, out), _VECTOR.as_pointer())
    builder.store(values, target, align=4)
    passing = builder.fcmp_ordered(relation, values, _spread(builder, limit))
    return builder.zext(builder.bitcast(passing, ir.IntType(LANES)), _INT64)


def _fold(builder: Any, values: Any, pick: Callable[[Any, Any, Any], Any], neutral: float) -> Any:
    """One number from all lanes, by halves; lanes that are NaN count for nothing."""
    not_nan = builder.fcmp_ordered("==", values, values)
    values = builder.select(not_nan, values, ir.Constant(_VECTOR, [neutral] * LANES))
    half = LANES // 2
    while half:
        order = [(lane + half) % LANES for lane in range(LANES)]
        turned = builder.shuffle_vector(
            values, values, ir.Constant(ir.VectorType(ir.IntType(32), LANES), order)
        )
        values = pick(builder, values, turned)
        half //= 2
    return builder.extract_element(values, ir.Constant(ir.IntType(32), 0))


def _squared_distances(
    context: Any, builder: Any, kinds: Any, blocks: Any, offset: Any, w: Any
) -> Any:
    base = _data(context, builder, kinds[0], blocks)
    point = _data(context, builder, kinds[2], w)
    total = cgutils.alloca_once_value(builder, _ZEROS)
    with cgutils.for_range(builder, _length(context, builder, kinds[2], w)) as loop:
        x = _load_lanes(builder, base, builder.add(offset, builder.mul(loop.index, _WIDTH)))
        difference = builder.fsub(x, _spread_item(builder, point, loop.index))
        _add_to(builder, total, builder.fmul(difference, difference))
    return builder.load(total)


def _distances_that(relation: str) -> Any:
    @intrinsic
    def distances(_context, blocks, offset, w, limit, out):
        def generate(context, builder, signature, arguments):
            *where, limit, out = arguments
            distances = _squared_distances(context, builder, signature.args, *where)
            return _store_and_compare(
                context, builder, distances, signature.args[4], out, relation, limit
            )

        return types.int64(blocks, types.intp, w, types.float32, out), generate

    return distances


# distances_at_*(blocks, offset, w, limit, out): |x - w|^2 of the block's points, into `out`; mask
# of those that are at most / at least the limit.
distances_at_most = _distances_that("<=")
distances_at_least = _distances_that(">=")


@intrinsic
def largest_distance(_context, blocks, offset, w):
    """The largest |x - w|^2 of the block's points; -inf where there is none."""

    def generate(context, builder, signature, arguments):
        distances = _squared_distances(context, builder, signature.args, *arguments)
        return _fold(builder, distances, _larger, float("-inf"))

    return types.float32(blocks, types.intp, w), generate


def _folded(pick: Callable[[Any, Any, Any], Any], neutral: float) -> Any:
    @intrinsic
    def fold(_context, array, offset):
        def generate(context, builder, signature, arguments):
            base = _data(context, builder, signature.args[0], arguments[0])
            return _fold(builder, _load_lanes(builder, base, arguments[1]), pick, neutral)

        return types.float32(array, types.intp), generate

    return fold


# lowest(array, offset), highest(array, offset): the extreme of sixteen numbers in a row, not
# counting NaN.
lowest = _folded(_smaller, float("inf"))
highest = _folded(_larger, float("-inf"))


@intrinsic
def box_gaps_at_most(_context, boxes, offset, w, limit, out):
    """Squared distance from w to each of a node's boxes, into `out`; mask of those within the
    limit.
    """

    def generate(context, builder, signature, arguments):
        boxes, offset, w, limit, out = arguments
        base = _data(context, builder, signature.args[0], boxes)
        point = _data(context, builder, signature.args[2], w)
        columns = _length(context, builder, signature.args[2], w)
        total = cgutils.alloca_once_value(builder, _ZEROS)
        high_rows = builder.add(offset, builder.mul(columns, _WIDTH))
        with cgutils.for_range(builder, columns) as loop:
            row = builder.mul(loop.index, _WIDTH)
            x = _spread_item(builder, point, loop.index)
            below = builder.fsub(_load_lanes(builder, base, builder.add(offset, row)), x)
            above = builder.fsub(x, _load_lanes(builder, base, builder.add(high_rows, row)))
            gap = _larger(builder, _larger(builder, below, above), _ZEROS)
            _add_to(builder, total, builder.fmul(gap, gap))
        gaps = builder.load(total)
        return _store_and_compare(context, builder, gaps, signature.args[4], out, "<=", limit)

    return types.int64(boxes, types.intp, w, types.float32, out), generate


@intrinsic
def box_reaches_at_least(_context, boxes, offset, slope, rows, constant, limit, out):
    """The largest |x - q|^2 that each of a node's boxes may hold, into `out`; mask of those that
    reach the limit.

    The node's row after the faces holds the largest |z|^2 of each box, `slope` is -2w, and `rows`
    picks for each column the face of the box (low or high) on which slope times z is largest.
    """

    def generate(context, builder, signature, arguments):
        boxes, offset, slope, rows, constant, limit, out = arguments
        base = _data(context, builder, signature.args[0], boxes)
        slopes = _data(context, builder, signature.args[2], slope)
        columns = _length(context, builder, signature.args[2], slope)
        row_data = _data(context, builder, signature.args[3], rows)
        top = builder.add(offset, builder.mul(columns, ir.Constant(_INT64, 2 * LANES)))
        start = builder.fadd(_load_lanes(builder, base, top), _spread(builder, constant))
        total = cgutils.alloca_once_value(builder, start)
        with cgutils.for_range(builder, columns) as loop:
            row = builder.load(builder.gep(row_data, [loop.index]))
            z = _load_lanes(builder, base, builder.add(offset, row))
            _add_to(builder, total, builder.fmul(z, _spread_item(builder, slopes, loop.index)))
        reaches = builder.load(total)
        return _store_and_compare(context, builder, reaches, signature.args[6], out, ">=", limit)

    signature = types.int64(boxes, types.intp, slope, rows, types.float32, types.float32, out)
    return signature, generate


@intrinsic
def first_lane(_context, mask):
    """The lowest lane in a mask that is not empty."""

    def generate(context, builder, signature, arguments):
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 1))

    return types.int64(types.int64), generate
