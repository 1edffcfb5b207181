// Rows of a table looked up by token, with learned positions, and their gradients.
#pragma once

#include "ops/op_definition.h"

namespace tidemark::ops {

// embedding(tokens i32 [..,T], table [V,C], positions? [P,C], P >= T) -> [..,T,C]: table[token] + positions[t]; f32.
// Tokens lie in [0, V): whoever makes them sees to that, the kernel does not look.
OpDefinition embedding_op();

// embedding_grad(tokens, dy [..,T,C], acc? [V,C]) {rows: V} -> the table's gradient [V,C]; with acc, only the rows that
// occur are touched. Contributions to a row are added in the order of the tokens, whatever the thread count.
OpDefinition embedding_grad_op();

// position_grad(dy [..,T,C], acc? [P,C]) {rows: P} -> [P,C], the sum of dy over all but its last two dimensions; rows
// beyond T are 0 or, with acc, kept.
OpDefinition position_grad_op();

}  // namespace tidemark::ops
