#include "device/cuda/language/block_sum.h"
#include "device/cuda/language/language.h"
#include "ops/layer_norm/layer_norm_launch.h"
#include "ops/layer_norm/layer_norm_math.h"

namespace tidemark::TM_CUDA_NAMESPACE {
namespace {

// A block to a row.
constexpr int kRowThreads = 256;

__global__ void LayerNorm(LayerNormLaunchArgs args) {
  TM_SHARED(float, scratch, kRowThreads / 32);
  const float* x = args.x + blockIdx.x * args.channels;
  float* y = args.y + blockIdx.x * args.channels;

  float sum = 0.0f;
  for (int64_t c = threadIdx.x; c < args.channels; c += kRowThreads) sum += x[c];
  const float mean = block_sum(sum, scratch) / static_cast<float>(args.channels);
  // A second pass over the row, which the cache still holds: the one-pass formula loses the variance under a large
  // mean.
  float squares = 0.0f;
  for (int64_t c = threadIdx.x; c < args.channels; c += kRowThreads) squares += (x[c] - mean) * (x[c] - mean);
  const float variance = block_sum(squares, scratch) / static_cast<float>(args.channels);
  const float rstd = 1.0f / sqrtf(variance + args.eps);

  for (int64_t c = threadIdx.x; c < args.channels; c += kRowThreads) {
    y[c] = ops::layer_norm_output(ops::layer_norm_normalized(x[c], mean, rstd), args.gamma[c], args.beta[c]);
  }
  if (threadIdx.x == 0) {
    args.mean[blockIdx.x] = mean;
    args.rstd[blockIdx.x] = rstd;
  }
}

__global__ void LayerNormGradInput(LayerNormGradLaunchArgs args) {
  TM_SHARED(float, scratch, kRowThreads / 32);
  const int64_t row = blockIdx.x, begin = row * args.channels;
  const float mean = args.mean[row], rstd = args.rstd[row];

  float sum = 0.0f, sum_normalized = 0.0f;
  for (int64_t c = threadIdx.x; c < args.channels; c += kRowThreads) {
    const float dy_gamma = args.dy[begin + c] * args.gamma[c];
    sum += dy_gamma;
    sum_normalized += dy_gamma * ops::layer_norm_normalized(args.x[begin + c], mean, rstd);
  }
  const float mean_dy_gamma = block_sum(sum, scratch) / static_cast<float>(args.channels);
  const float mean_normalized = block_sum(sum_normalized, scratch) / static_cast<float>(args.channels);

  for (int64_t c = threadIdx.x; c < args.channels; c += kRowThreads) {
    const float normalized = ops::layer_norm_normalized(args.x[begin + c], mean, rstd);
    const float dy_gamma = args.dy[begin + c] * args.gamma[c];
    const float dx = ops::layer_norm_dx(dy_gamma, normalized, mean_dy_gamma, mean_normalized, rstd);
    args.dx[begin + c] = args.acc_dx ? args.acc_dx[begin + c] + dx : dx;
  }
}

// A block to 32 channels: each of its 8 lines of threads adds up every eighth row, and the first adds the lines up. No
// atomics: the order of the sums hangs on the number of rows alone.
constexpr int kColumns = 32, kLines = 8;

__global__ void LayerNormGradParameters(LayerNormGradLaunchArgs args) {
  TM_SHARED(float, dgammas, kLines* kColumns);
  TM_SHARED(float, dbetas, kLines* kColumns);
  const int64_t c = int64_t{blockIdx.x} * kColumns + threadIdx.x;
  float dgamma = 0.0f, dbeta = 0.0f;
  if (c < args.channels) {
    for (int64_t row = threadIdx.y; row < args.rows; row += kLines) {
      const float dy = args.dy[row * args.channels + c];
      dgamma += dy * ops::layer_norm_normalized(args.x[row * args.channels + c], args.mean[row], args.rstd[row]);
      dbeta += dy;
    }
  }
  dgammas[threadIdx.y * kColumns + threadIdx.x] = dgamma;
  dbetas[threadIdx.y * kColumns + threadIdx.x] = dbeta;
  __syncthreads();
  if (threadIdx.y != 0 || c >= args.channels) return;
  for (int line = 1; line < kLines; ++line) {
    dgamma += dgammas[line * kColumns + threadIdx.x];
    dbeta += dbetas[line * kColumns + threadIdx.x];
  }
  args.dgamma[c] = args.acc_dgamma ? args.acc_dgamma[c] + dgamma : dgamma;
  args.dbeta[c] = args.acc_dbeta ? args.acc_dbeta[c] + dbeta : dbeta;
}

}  // namespace

const char* launch_layer_norm(const LayerNormLaunchArgs& args, void* stream) {
  TM_LAUNCH(LayerNorm, static_cast<unsigned>(args.rows), kRowThreads, stream, args);
  return launch_error();
}

// The parameters first: dx may lie on dy.
const char* launch_layer_norm_grad(const LayerNormGradLaunchArgs& args, void* stream) {
  const unsigned column_blocks = static_cast<unsigned>((args.channels + kColumns - 1) / kColumns);
  TM_LAUNCH(LayerNormGradParameters, column_blocks, dim3(kColumns, kLines), stream, args);
  if (const char* error = launch_error()) return error;
  TM_LAUNCH(LayerNormGradInput, static_cast<unsigned>(args.rows), kRowThreads, stream, args);
  return launch_error();
}

}  // namespace tidemark::TM_CUDA_NAMESPACE
