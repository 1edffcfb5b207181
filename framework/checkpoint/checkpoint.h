// Checkpoints of a run: DIR/step-00000200/ holds tensors.safetensors and manifest.json. See Note [Whole or absent].
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "framework/checkpoint/manifest.h"
#include "framework/checkpoint/safetensors.h"

namespace tidemark::checkpoint {

struct SaveOptions {
  int64_t keep = 3;  // whole checkpoints left in the folder, the new one among them; at least 1
  // Called between the steps of saving with the name of what was done last; the tests end the process in it.
  std::function<void(std::string_view)> observer;
};

// Saves into `dir` (made if absent), then removes the oldest. Returns the new checkpoint's folder. Extra host memory is
// less than 1 MiB plus the header. Throws Error(io); what `dir` held before is still
// there. One writer a folder.
std::string save(const std::string& dir, Manifest manifest, std::span<const TensorView> tensors,
                 const SaveOptions& options = {});

// Where a tensor of a checkpoint is to go.
struct TensorTarget {
  std::string name;
  ValueType type;
  std::span<std::byte> bytes;  // type.bytes() of them
};

// An open checkpoint whose digests were found right.
class Checkpoint {
 public:
  // Throws Error(io) or Error(data) naming file and reason if it is not whole.
  explicit Checkpoint(std::string folder);

  const std::string& folder() const { return folder_; }
  const Manifest& manifest() const { return manifest_; }
  const std::vector<StoredTensor>& tensors() const { return tensors_; }

  // Fills every target. Throws Error(data) naming the tensor, before anything is written, if one is missing or has
  // another type, or if the checkpoint holds one that no target wants; with `subset` the latter is allowed.
  void load(std::span<const TensorTarget> targets, bool subset = false) const;

 private:
  std::string folder_;
  Manifest manifest_;
  InputFile file_;
  std::vector<StoredTensor> tensors_;
};

// A quick look, without the digest of the tensors: manifest and header are right and the file has its length.
bool looks_whole(const std::string& folder);

// Folders of checkpoints in `dir`, the newest last, whole or not; empty if `dir` does not exist.
std::vector<std::string> list_checkpoints(const std::string& dir);

// The newest whole one; those that are not are skipped with a line in the log. nullptr if there is none at all;
// Error(data) if there are some and none is whole.
std::unique_ptr<Checkpoint> find_newest(const std::string& dir);

}  // namespace tidemark::checkpoint
