// Note [Whole or absent]
// A checkpoint is written into a folder NAME.partial: first the tensors, then the manifest with their digest, each
// flushed to the device. Then the folder is renamed to NAME and its parent is flushed. The rename is the one moment at
// which the checkpoint comes into being; a process or machine that dies before leaves a .partial folder, which the next
// save removes. A step that is saved again (a resumed run passes it once more) gets a folder of its own,
// step-00000200.1, so that no whole checkpoint is ever taken apart to make room for one that is not whole yet. Old ones
// go last, when the new one is safe, and are renamed to .partial before their files are removed, so that half of one is
// never found under its name. Digests in the manifest, and of the manifest, find what a device or a file system lost in
// spite of all this.
#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/file.h"
#include "base/log.h"
#include "base/sha256.h"
#include "framework/checkpoint/checkpoint.h"
#include "framework/checkpoint/folder_name.h"

namespace tidemark::checkpoint {
namespace {

namespace fs = std::filesystem;

class Saver {
 public:
  Saver(const std::string& dir, const SaveOptions& options) : dir_(dir.empty() ? "." : dir), options_(options) {}

  std::string save(Manifest manifest, std::span<const TensorView> tensors) {
    make_directory(dir_);
    remove_partial();
    const std::string name = free_name(manifest.step);
    const fs::path partial = dir_ / (name + kPartialSuffix);
    try {
      make_directory(partial);
      manifest.tensors_sha256 = write_tensors(partial / kTensorFile, tensors);
      replace_file((partial / kManifestFile).string(), to_json(manifest));
      done("manifest");
      fs::rename(partial, dir_ / name);
      done("rename");
      sync_directory(dir_.string());
      done("publish");
    } catch (...) {
      std::error_code ignored;  // what is left over goes with the next save
      fs::remove_all(partial, ignored);
      throw;
    }
    remove_old(name);
    return (dir_ / name).string();
  }

 private:
  void done(std::string_view what) const {
    if (options_.observer) options_.observer(what);
  }

  void make_directory(const fs::path& path) const {
    std::error_code error;
    const bool is_new = fs::create_directories(path, error);
    if (!error && is_new) sync_directory(fs::absolute(path).parent_path().string());
    if (error) throw Error(ErrorCode::io, "cannot create folder '" + path.string() + "': " + error.message());
    done("folder");
  }

  void remove_partial() const {
    for (const fs::directory_entry& entry : fs::directory_iterator(dir_)) {
      if (is_partial(entry.path().filename().string())) fs::remove_all(entry.path());
    }
    done("clean");
  }

  std::string free_name(int64_t step) const {
    FolderName name{step, 0};
    for (const FolderName& other : list_folders(dir_.string())) {
      if (other.step == step) name.generation = std::max(name.generation, other.generation + 1);
    }
    return to_string(name);
  }

  std::string write_tensors(const fs::path& path, std::span<const TensorView> tensors) const {
    Sha256 digest;
    FileReplacement file(path.string());
    write_safetensors(tensors, [&](std::span<const std::byte> piece) {
      digest.update(piece.data(), piece.size());
      file.write(piece.data(), piece.size());
      done("piece");
    });
    file.commit();
    done("tensors");
    return digest.finish_hex();
  }

  // A damaged checkpoint never takes the place of a whole one among those that are kept.
  void remove_old(const std::string& newest) const {
    std::vector<FolderName> folders = list_folders(dir_.string());
    int64_t kept = 1;
    for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
      const std::string name = to_string(*folder);
      if (name == newest) continue;
      const bool same_step = folder->step == parse_folder_name(newest)->step;
      if (!same_step && kept < options_.keep && looks_whole((dir_ / name).string())) {
        ++kept;
        continue;
      }
      remove(name);
    }
  }

  void remove(const std::string& name) const {
    const fs::path away = dir_ / (name + kPartialSuffix);
    std::error_code error;
    fs::rename(dir_ / name, away, error);
    done("hide");
    if (!error) fs::remove_all(away, error);
    if (error)
      log(LogLevel::warning, "checkpoint_not_removed", {{"path", (dir_ / name).string()}, {"why", error.message()}});
    done("remove");
  }

  fs::path dir_;
  const SaveOptions& options_;
};

}  // namespace

std::string save(const std::string& dir, Manifest manifest, std::span<const TensorView> tensors,
                 const SaveOptions& options) {
  TM_CHECK(options.keep >= 1 && manifest.step >= 0, "options of a checkpoint");
  try {
    return Saver(dir, options).save(std::move(manifest), tensors);
  } catch (const fs::filesystem_error& e) {
    throw Error(ErrorCode::io, "checkpoint in '" + dir + "' cannot be saved: " + e.what());
  }
}

}  // namespace tidemark::checkpoint
