// What stands beside the tensors of a checkpoint: where the run was, and all that bit-identity hangs on.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "framework/data/loader.h"

namespace tidemark::checkpoint {

struct Manifest {
  int64_t step = 0;               // optimizer steps done
  data::SamplerPosition sampler;  // where the next batch begins
  // Random numbers come from a counter-based generator, so seed, step and sampler position are the whole random state.
  uint64_t seed = 0;
  std::string config_yaml;  // resolved, as config::to_yaml prints it
  std::string optimizer;
  std::string plan_digest;
  std::string kernels_digest;  // of the list of kernels that the program runs, whatever its budget
  int64_t threads = 0;
  std::string device;
  std::map<std::string, std::string> state;  // what else the training loop carries from step to step
  std::string tensors_sha256;                // of the tensor file; save() fills it in

  bool operator==(const Manifest&) const = default;
};

// JSON with a digest of itself, so that a changed manifest is noticed.
std::string to_json(const Manifest& manifest);
// Throws Error(data) naming `path` if it is cut, changed, of another format version or incomplete.
Manifest manifest_from_json(std::string_view text, const std::string& path);

// What a resumed run cannot keep, one line each, empty if it continues bit for bit. Keys of the configuration that
// never change a result (memory.budget, metrics.listen, ...) are left out.
std::vector<std::string> differences(const Manifest& saved, const Manifest& now);

}  // namespace tidemark::checkpoint
