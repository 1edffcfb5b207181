// A small program that uses memory as real ones do, and a leak that can be planted in it.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

#include "device/device_memory.h"
#include "memory/budget/growth_verdict.h"

namespace tidemark::tests {

enum class Leak {
  none,
  unreleased_block,  // an activation of 64 KiB that a step forgets to give back
  endless_cache,     // workspaces kept by a key that never comes again
  retained_session,  // a session that has ended, but that something still holds, and its key/value cache
  host_memory,       // 64 KiB of the C library's heap
  communicator,      // memory that a library takes from the device without telling anybody, never freed
};

// The category that the verdict is to name; empty for none.
std::string_view category_of(Leak leak);

// Runs `steps` steps: weights that stay, activations of varying sizes, sessions of varying lengths, a cache that fills,
// a checkpoint buffer every 25 steps. A sample after each; `beside` is called before it.
std::vector<memory::GrowthSample> run_program(DeviceMemory& device, Leak leak, int64_t steps,
                                              const std::function<void()>& beside = {});

}  // namespace tidemark::tests
