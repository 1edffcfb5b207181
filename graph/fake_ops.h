// A few small ops for the tests of graph/, which must not know the real ones. All are pointwise in their shapes.
//
//   add(a, b) -> y                                     gradient: passes dy on to both
//   add_into(acc, x) -> acc'
//   product(x, w) -> y                                 of x's type; gradient: product_grad for each side, with
//   accumulators product_grad(dy, other, acc?) {like: list} -> d    of shape `like` gate(x) -> y, mask u8 (suffix
//   "mask")              gradient: gate_grad(dy, mask) gate_grad(dy, mask) -> dx lookup(tokens i32, table) -> y of the
//   attribute `shape`; gradient: lookup_grad(dy, acc?) {like} lookup_grad(dy, acc?) {like: list} -> dtable total(x) ->
//   f32[1]                                 a loss; gradient: total_grad(x) total_grad(x) -> dx fused_loss(x, w) ->
//   f32[1]                         a loss; gradient: fused_loss_grad, which absorbs it fused_loss_grad(x, w, acc_dw?)
//   -> loss (suffix "loss"), dx (suffix "dx"), dw (suffix "dw") update(param, grad) -> param' overwrite_as(x) {dims:
//   list} -> x' of another shape opaque(x) -> y                                     no gradient
#pragma once

#include "graph/op.h"

namespace tidemark::testing {

OpTable fake_ops();

}  // namespace tidemark::testing
