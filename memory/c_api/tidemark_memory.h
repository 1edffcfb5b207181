/* Tidemark's caching allocator for programs in C, and for those that take an allocator as two functions: PyTorch's
 * torch.cuda.memory.CUDAPluggableAllocator("libtidemark_memory.so", "tidemark_alloc", "tidemark_free").
 *
 * Devices are numbers. Number N is the CUDA device N, unless tidemark_use_device() said otherwise before its first use,
 * or the environment variable TIDEMARK_DEVICE does so for number 0: "cpu", "cuda:1", "sim:NAME?size=2GiB".
 * All functions are thread-safe. Sizes are bytes. A forked child must not use blocks, or devices in use, of its parent.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory of the device, aligned to 256 bytes, for work on the stream (a cudaStream_t; ignored where the device has
 * none), which must live until tidemark_forget_stream() or the program's end. NULL for a size of 0, and where there is
 * no memory: tidemark_last_error() says why. */
void* tidemark_alloc(ptrdiff_t bytes, int device, void* stream);

/* Gives back what tidemark_alloc() gave on the same device; NULL does nothing. The stream is the block's. Work that it
 * was given before may still use the block. `bytes` is not looked at. Anything else (a second free, an address inside a
 * block, another device's block) ends the program with a line that says so, as free() does. */
void tidemark_free(void* address, ptrdiff_t bytes, int device, void* stream);

/* Before a stream is destroyed that was given to tidemark_alloc() or tidemark_free(): waits for its work and looks at
 * it no more. Its blocks stay and can be freed later, with a stream that lives. 0, or -1. */
int tidemark_forget_stream(int device, void* stream);

/* Chooses what the number (0 or more) stands for. 0, or -1 if the number is in use already or the setting is not
 * understood. */
int tidemark_use_device(int device, const char* setting);

/* The device gives this program no more than so many bytes. 0, or -1. */
int tidemark_set_limit(int device, int64_t bytes);

typedef struct {
  int64_t requested; /* what callers asked for and hold */
  int64_t allocated; /* the same in whole alignments */
  int64_t reserved;  /* pages held: allocated + cached + pending + slack */
  int64_t cached;    /* wholly free pages */
  int64_t pending;   /* wholly free pages that a stream may still use */
  int64_t slack;     /* the rest of pages that live blocks lie in */
  int64_t allocated_peak;
  int64_t reserved_peak;
  int64_t device_free;
  int64_t out_of_memory; /* refused requests */
} tidemark_memory_stats;

/* 0, or -1 with *stats unchanged. */
int tidemark_get_stats(int device, tidemark_memory_stats* stats);

/* Gives all cached pages back to the device; how many bytes, or -1. */
int64_t tidemark_empty_cache(int device);

/* Why the last call of this thread failed; "" if none did. Valid until the thread's next call. */
const char* tidemark_last_error(void);

#ifdef __cplusplus
}
#endif
