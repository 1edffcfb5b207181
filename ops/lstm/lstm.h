// Long short-term memory over packed rows (Hochreiter and Schmidhuber 1997; forget gate of Gers et al. 2000).
//
// Packed rows: the samples are ordered by length, the longest first; the rows are step 0 of all samples, then step 1 of
// those that are longer than 1, and so on. Each step is one contiguous matrix, its samples are the first of the step
// before, and no row is padding. `lengths` i32[batch] tells the lengths, which add up to `rows`.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// lstm(x [rows,4H], w [4H,H], lengths i32[batch]) -> h [rows,H], gates [rows,4H] (suffix gates; may share x), cells
// [rows,H] (suffix cells); f32. With z = x + h_before w^T in the order i, f, g, o and h, c zero before a sample begins:
//   i, f, o = sigmoid(z_i), sigmoid(z_f), sigmoid(z_o);  g = tanh(z_g);  c = f c_before + i g;  h = o tanh(c)
// x is the input's share of z, biases included: a matmul makes it. No gradient flows through gates and cells, which the
// backward pass reads. Bytes that stay for it: 24 H a row, 16 H of them in the bytes of x.
OpDefinition lstm_op();

// lstm_grad(dh [rows,H], gates, cells, w, lengths) -> dx [rows,4H], may share gates.
OpDefinition lstm_grad_op();

// lstm_grad_weight(h, dx, lengths, acc? [4H,H]) -> dw [4H,H] (acc plus the gradient in its bytes): the sum over rows,
// but those of step 0, of dx^T h_before.
OpDefinition lstm_grad_weight_op();

// packed_row_ids(sample_ids i32[batch], lengths i32[batch]) {rows} -> i32[rows]: a number for each row that hangs on
// its sample and step, not on its place: sample + 2^20 step. What is drawn at random for a row takes it as the sample.
OpDefinition packed_row_ids_op();

}  // namespace tidemark::ops
