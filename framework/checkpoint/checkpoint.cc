#include "framework/checkpoint/checkpoint.h"

#include <map>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "framework/checkpoint/folder_name.h"

namespace tidemark::checkpoint {
namespace {

Manifest read_manifest(const std::string& folder) {
  const std::string path = folder + "/" + kManifestFile;
  return manifest_from_json(read_file(path), path);
}

}  // namespace

Checkpoint::Checkpoint(std::string folder)
    : folder_(std::move(folder)), manifest_(read_manifest(folder_)), file_(folder_ + "/" + kTensorFile) {
  tensors_ = read_safetensors_header(file_);
  const std::string digest = file_sha256(file_);
  if (digest != manifest_.tensors_sha256) {
    throw Error(ErrorCode::data, file_.path() + ": is damaged: its SHA-256 is " + digest + ", the manifest says " +
                                     manifest_.tensors_sha256);
  }
}

void Checkpoint::load(std::span<const TensorTarget> targets, bool subset) const {
  std::map<std::string, const StoredTensor*> stored;
  for (const StoredTensor& tensor : tensors_) stored[tensor.name] = &tensor;

  std::vector<const StoredTensor*> sources;
  for (const TensorTarget& target : targets) {
    TM_CHECK(static_cast<int64_t>(target.bytes.size()) == target.type.bytes(), "bytes of target " + target.name);
    const auto found = stored.find(target.name);
    if (found == stored.end() || found->second == nullptr) {
      throw Error(ErrorCode::data,
                  file_.path() + ": tensor '" + target.name + "' is missing; the model has another shape");
    }
    if (found->second->type != target.type) {
      throw Error(ErrorCode::data, file_.path() + ": tensor '" + target.name + "' is " +
                                       to_string(found->second->type) + ", the model wants " + to_string(target.type));
    }
    sources.push_back(found->second);
    found->second = nullptr;  // taken
  }
  for (const auto& [name, tensor] : stored) {
    if (tensor != nullptr && !subset) {
      throw Error(ErrorCode::data, file_.path() + ": tensor '" + name + "' has no place in the model");
    }
  }
  for (size_t i = 0; i < targets.size(); ++i) file_.read_at(sources[i]->offset, targets[i].bytes);
}

bool looks_whole(const std::string& folder) {
  try {
    read_manifest(folder);
    read_safetensors_header(InputFile(folder + "/" + kTensorFile));
    return true;
  } catch (const Error&) {
    return false;
  }
}

std::vector<std::string> list_checkpoints(const std::string& dir) {
  std::vector<std::string> paths;
  for (const FolderName& name : list_folders(dir)) paths.push_back(dir + "/" + to_string(name));
  return paths;
}

std::unique_ptr<Checkpoint> find_newest(const std::string& dir) {
  const std::vector<std::string> paths = list_checkpoints(dir);
  std::string why;
  for (auto path = paths.rbegin(); path != paths.rend(); ++path) {
    try {
      return std::make_unique<Checkpoint>(*path);
    } catch (const Error& e) {
      log(LogLevel::warning, "checkpoint_skipped", {{"path", *path}, {"why", e.what()}});
      if (why.empty()) why = e.what();
    }
  }
  if (paths.empty()) return nullptr;
  throw Error(ErrorCode::data, "none of the " + std::to_string(paths.size()) + " checkpoints in '" + dir +
                                   "' is whole; the newest: " + why);
}

}  // namespace tidemark::checkpoint
