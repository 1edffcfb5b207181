#include "device/host_processes.h"

#include <dirent.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>

namespace tidemark {
namespace {

struct CloseDirectory {
  void operator()(DIR* directory) const { closedir(directory); }
};

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// 0 for a process that ended meanwhile.
int64_t anonymous_pages(const std::string& statm) {
  const std::unique_ptr<std::FILE, CloseFile> file(std::fopen(statm.c_str(), "r"));
  long long size = 0, resident = 0, shared = 0;
  if (file == nullptr || std::fscanf(file.get(), "%lld %lld %lld", &size, &resident, &shared) != 3) return 0;
  return resident > shared ? resident - shared : 0;
}

}  // namespace

int64_t other_processes_bytes(const std::string& root) {
  const std::unique_ptr<DIR, CloseDirectory> proc(opendir((root + "/proc").c_str()));
  if (proc == nullptr) return 0;
  int64_t pages = 0;
  while (const dirent* entry = readdir(proc.get())) {
    char* end = nullptr;
    const long pid = std::strtol(entry->d_name, &end, 10);
    if (pid <= 0 || *end != '\0' || pid == getpid()) continue;
    pages += anonymous_pages(root + "/proc/" + entry->d_name + "/statm");
  }
  return pages * sysconf(_SC_PAGESIZE);
}

}  // namespace tidemark
