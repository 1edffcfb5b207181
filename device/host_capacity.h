// How much memory this machine, or the cgroup that the process is in, has and can still give.
#pragma once

#include <cstdint>
#include <string>

namespace tidemark {

struct HostCapacity {
  int64_t total_bytes = 0;  // the least of the machine's memory and every cgroup limit above the process
  int64_t free_bytes = 0;   // what can be had without swapping: file cache that the kernel can drop counts as free
};

// Reads /proc/meminfo and the memory controllers of cgroup v1 and v2 (a process can be under both). `root` is put
// before every path; tests give a directory of their own. A cgroup file that is missing or says "max" limits nothing.
// Throws Error(io) if /proc/meminfo cannot be read.
HostCapacity read_host_capacity(const std::string& root = "");

// How much a device may take of it: free bytes less what is kept for page tables, stacks, file cache and neighbours,
// 1/64 of the memory and at least 64 MiB. Throws Error(io).
int64_t committable_host_bytes(const std::string& root = "");

}  // namespace tidemark
