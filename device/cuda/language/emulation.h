// The part of CUDA that kernel sources use, on the host: for tests of kernels where no GPU is at hand.
//
// Note [Emulated blocks]
// The threads of a block are fibers on one thread of the operating system. A fiber runs until it waits, at a barrier of
// the block or of its warp (a shuffle is two of those), or ends; the scheduler then runs the next, and lets waiting
// fibers on when all that live have come. Blocks run one after the other. Three things make missing barriers show:
// shared memory is filled with NaN before each block; successive launches run threads and blocks forwards, backwards
// and shuffled, so that whoever reads before the writer has run differs between launches; and a barrier that not all
// live threads reach is an error. Not emulated: partial shuffle masks, dynamic shared memory, memory order between
// threads that share no barrier.
#pragma once

#include <cmath>  // kernels take sqrtf and the like for granted
#include <cstdint>
#include <cstring>
#include <functional>

namespace tidemark::emulation {

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3() = default;
  dim3(unsigned x_, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}  // implicit, as CUDA's
};

// Of the thread that is running.
extern thread_local dim3 threadIdx, blockIdx, blockDim, gridDim;

// Runs the body for every thread of every block and comes back when all have ended. What goes wrong is kept for
// launch_error(): more than 1024 threads, too much shared memory, a barrier that some threads never reach.
void launch(dim3 blocks, dim3 threads, const std::function<void()>& body);

// The error of launches since the last call, nullptr if there was none; the text lives until the next launch.
const char* launch_error();

void block_barrier();
void warp_barrier();

// An array of the block's shared memory, the same for every thread that asks with the same id.
void* shared_bytes(int id, int64_t bytes);

template <class T>
T* shared(int id, int64_t count) {
  return static_cast<T*>(shared_bytes(id, count * static_cast<int64_t>(sizeof(T))));
}

// Eight bytes of the warp for each lane, and this thread's lane.
uint64_t* warp_slots();
int lane();
void require_full_mask(unsigned mask);
// Lanes of this thread's warp: 32, or fewer in the last warp of a block.
int warp_lanes();

// The value that lane `source` brings; its own where there is no such lane.
template <class T>
T shuffle(unsigned mask, T value, int source) {
  static_assert(sizeof(T) <= sizeof(uint64_t));
  require_full_mask(mask);
  std::memcpy(&warp_slots()[lane()], &value, sizeof value);
  warp_barrier();
  const int from = source >= 0 && source < warp_lanes() ? source : lane();
  T result;
  std::memcpy(&result, &warp_slots()[from], sizeof result);
  warp_barrier();
  return result;
}

template <class T>
T atomicAdd(T* address, T value) {
  const T old = *address;
  *address += value;
  return old;
}

}  // namespace tidemark::emulation

inline void __syncthreads() { tidemark::emulation::block_barrier(); }
inline void __syncwarp() { tidemark::emulation::warp_barrier(); }

template <class T>
T __shfl_xor_sync(unsigned mask, T value, int lane_mask) {
  return tidemark::emulation::shuffle(mask, value, tidemark::emulation::lane() ^ lane_mask);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta) {
  return tidemark::emulation::shuffle(mask, value, tidemark::emulation::lane() + static_cast<int>(delta));
}
