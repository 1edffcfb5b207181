#include "framework/compile/cost_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <thread>
#include <utility>

#include "base/error.h"
#include "base/file.h"

namespace tidemark::compile {
namespace {

constexpr const char* kFormat = "tidemark-costs-2";
constexpr const char* kOldFormat = "tidemark-costs-1";  // on operands that were in the caches
constexpr std::chrono::milliseconds kPoll{20};
constexpr std::chrono::seconds kQuietWait{1};

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw Error(ErrorCode::io,
              "cost file '" + path + "' cannot be written: " + why + "; name another with memory.cost_file");
}

std::string reason(int error) { return std::generic_category().message(error); }

// Opens the lock file, in a folder that is made if need be.
int open_lock(const std::string& path) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code failed;
  if (!folder.empty()) std::filesystem::create_directories(folder, failed);
  if (failed) refuse(path, failed.message());
  const int descriptor = open((path + ".lock").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0644);
  if (descriptor < 0) refuse(path, "cannot open '" + path + ".lock': " + reason(errno));
  return descriptor;
}

void replace(const std::string& path, const CostFigures& figures) {
  const nlohmann::ordered_json json{{"format", kFormat}, {"nanoseconds", figures}};
  try {
    replace_file(path, json.dump(1));
  } catch (const Error& error) {
    refuse(path, error.what());
  }
}

}  // namespace

CostFigures read_cost_file(const std::string& path) {
  CostFigures figures;
  std::error_code unseen;  // a folder that cannot be entered: writing says so
  const std::filesystem::file_status status = std::filesystem::status(path, unseen);
  if (path.empty() || !std::filesystem::exists(status)) return figures;
  // A pipe would be waited for, a device such as /dev/zero read without end.
  if (!std::filesystem::is_regular_file(status))
    throw Error(ErrorCode::io, "cost file '" + path + "' is no regular file; name another with memory.cost_file");
  const auto json = nlohmann::json::parse(read_file(path), nullptr, false);
  if (json.is_object() && json.value("format", nlohmann::json()) == kOldFormat) return figures;
  if (!json.is_object() || !json.contains("format") || json["format"] != kFormat || !json.contains("nanoseconds") ||
      !json["nanoseconds"].is_object())
    throw Error(ErrorCode::data, "'" + path + "' is no cost file of this version; delete it to measure anew");
  for (const auto& [key, value] : json["nanoseconds"].items()) {
    if (!value.is_number_integer() || value.get<int64_t>() < 1 || value.get<int64_t>() > kMostCostNanoseconds)
      throw Error(ErrorCode::data, "'" + path + "': cost of '" + key + "' is " + value.dump() +
                                       ", must be a whole number of ns from 1 to " +
                                       std::to_string(kMostCostNanoseconds) + "; delete the file to measure anew");
    figures[key] = value.get<int64_t>();
  }
  return figures;
}

CostFileWriter::CostFileWriter(std::string path, const OnWaiting& on_waiting)
    : path_(std::move(path)), descriptor_(open_lock(path_)) {
  try {
    wait(on_waiting);
    sign();
    const FileReplacement possible(path_);  // never committed
  } catch (const Error& error) {
    close(descriptor_);
    refuse(path_, error.what());
  } catch (...) {
    close(descriptor_);
    throw;
  }
}

CostFileWriter::~CostFileWriter() { close(descriptor_); }

void CostFileWriter::wait(const OnWaiting& on_waiting) {
  const auto begin = std::chrono::steady_clock::now();
  bool told = !on_waiting;
  while (flock(descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) throw Error(ErrorCode::io, "cannot lock it: " + reason(errno));
    if (!told && std::chrono::steady_clock::now() - begin >= kQuietWait) {
      on_waiting(writer());
      told = true;
    }
    std::this_thread::sleep_for(kPoll);
  }
}

pid_t CostFileWriter::writer() const {
  std::array<char, 16> text{};
  const ssize_t bytes = pread(descriptor_, text.data(), text.size(), 0);
  pid_t id = 0;
  if (bytes > 0) std::from_chars(text.data(), text.data() + bytes, id);
  return id;
}

// For those who wait.
void CostFileWriter::sign() {
  const std::string text = std::to_string(getpid()) + '\n';
  if (ftruncate(descriptor_, 0) != 0 ||
      pwrite(descriptor_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
    throw Error(ErrorCode::io, "cannot write '" + path_ + ".lock': " + reason(errno));
}

void CostFileWriter::add(CostFigures figures) {
  CostFigures all = read_cost_file(path_);
  all.merge(figures);
  replace(path_, all);
}

void CostFileWriter::put(CostFigures figures) {
  figures.merge(read_cost_file(path_));
  replace(path_, figures);
}

}  // namespace tidemark::compile
