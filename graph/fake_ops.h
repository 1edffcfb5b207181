// A few small ops for the tests of graph/, which must not know the real ones.
#pragma once

#include "graph/op.h"

namespace tidemark::testing {

// Pointwise; "suffix" in brackets; gradient rules after the arrow.
// - add(a, b) => dy is passed on to both. add_into(acc, x) writes onto acc.
// - product(x, w), of x's type => product_grad(dy, other, acc?) {like: list} for each side.
// - gate(x) -> y, mask u8 ["mask"] => gate_grad(dy, mask).
// - lookup(tokens, table) {shape: list} => lookup_grad(dy, acc?) {like: list}.
// - total(x) -> f32[1], a loss => total_grad(x).
// - dot(a, b) -> f32[1], a loss => b and a are passed on as they stand.
// - fused_loss(x, w) -> f32[1], a loss => fused_loss_grad(x, w, acc_dw?) -> loss ["loss"], dx ["dx"], dw ["dw"], which
//   absorbs it.
// - update(param, grad) writes onto param. overwrite_as(x) {dims: list} writes another shape onto x.
// - opaque(x) has no gradient. stop(x) => nothing.
OpTable fake_ops();

}  // namespace tidemark::testing
