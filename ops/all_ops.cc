#include "ops/all_ops.h"

#include "ops/activation/activation.h"
#include "ops/add/add.h"
#include "ops/attention/attention.h"
#include "ops/batch_norm/batch_norm.h"
#include "ops/cached_attention/cached_attention.h"
#include "ops/conv2d/conv2d.h"
#include "ops/dropout/dropout.h"
#include "ops/embedding/embedding.h"
#include "ops/fill/fill.h"
#include "ops/layer_norm/layer_norm.h"
#include "ops/linear_cross_entropy/linear_cross_entropy.h"
#include "ops/lstm/lstm.h"
#include "ops/matmul/matmul.h"
#include "ops/optimizer/optimizer.h"
#include "ops/pack/pack.h"
#include "ops/pool2d/pool2d.h"
#include "ops/reduce/reduce.h"
#include "ops/softmax_cross_entropy/softmax_cross_entropy.h"

namespace tidemark::ops {

OpSet all_ops() {
  OpSet ops;
  ops.add(adamw_update_op());
  ops.add(add_op());
  ops.add(add_into_op());
  ops.add(attention_op());
  ops.add(attention_grad_op());
  ops.add(batch_norm_op());
  ops.add(batch_norm_apply_op());
  ops.add(batch_norm_grad_op());
  ops.add(batch_norm_inference_op());
  ops.add(batch_norm_statistics_op());
  ops.add(batch_norm_update_statistics_op());
  ops.add(cached_attention_op());
  ops.add(clip_scale_op());
  ops.add(conv2d_op());
  ops.add(conv2d_grad_input_op());
  ops.add(conv2d_grad_weight_op());
  ops.add(dropout_op());
  ops.add(embedding_op());
  ops.add(embedding_grad_op());
  ops.add(fill_op());
  ops.add(gelu_op());
  ops.add(gelu_grad_op());
  ops.add(global_avg_pool2d_op());
  ops.add(global_avg_pool2d_grad_op());
  ops.add(layer_norm_op());
  ops.add(layer_norm_grad_op());
  ops.add(linear_cross_entropy_op());
  ops.add(linear_cross_entropy_grad_op());
  ops.add(lstm_op());
  ops.add(lstm_grad_op());
  ops.add(lstm_grad_weight_op());
  ops.add(matmul_op());
  ops.add(matmul_grad_input_op());
  ops.add(matmul_grad_weight_op());
  ops.add(max_pool2d_op());
  ops.add(max_pool2d_grad_op());
  ops.add(pack_op());
  ops.add(packed_row_ids_op());
  ops.add(position_grad_op());
  ops.add(relu_op());
  ops.add(relu_grad_op());
  ops.add(sgd_update_op());
  ops.add(softmax_cross_entropy_op());
  ops.add(softmax_cross_entropy_grad_op());
  ops.add(squared_norm_op());
  ops.add(sum_leading_op());
  return ops;
}

}  // namespace tidemark::ops
