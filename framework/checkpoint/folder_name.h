// Names of checkpoint folders: "step-00000200", and "step-00000200.1" for a step saved again.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tidemark::checkpoint {

inline constexpr const char* kTensorFile = "tensors.safetensors";
inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kPartialSuffix = ".partial";

struct FolderName {
  int64_t step = 0;
  int64_t generation = 0;  // how often the step had been saved before
  auto operator<=>(const FolderName&) const = default;
};

std::string to_string(const FolderName& name);
// Nothing for names that to_string() never gives, so that no foreign folder is ever taken for ours.
std::optional<FolderName> parse_folder_name(std::string_view name);
// One of ours with kPartialSuffix.
bool is_partial(std::string_view name);

// The checkpoints of a folder, oldest first; empty if it does not exist. Throws Error(io).
std::vector<FolderName> list_folders(const std::string& dir);

}  // namespace tidemark::checkpoint
