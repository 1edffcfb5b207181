#include "device/page_file.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>

#include "base/error.h"

namespace tidemark {
namespace {

constexpr int64_t kPage = int64_t{2} << 20;

// Addresses without access, aligned to a page.
class Addresses {
 public:
  explicit Addresses(int64_t pages) : bytes_(static_cast<size_t>((pages + 1) * kPage)) {
    start_ = mmap(nullptr, bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  }
  ~Addresses() { munmap(start_, bytes_); }
  std::byte* data() const {
    const uintptr_t unit = static_cast<uintptr_t>(kPage);
    return reinterpret_cast<std::byte*>((reinterpret_cast<uintptr_t>(start_) + unit - 1) / unit * unit);
  }

 private:
  size_t bytes_;
  void* start_;
};

class PageFileTest : public testing::TestWithParam<PageFileKind> {
 protected:
  // nullptr where the kernel does not give the kind to this process.
  std::unique_ptr<PageFile> open(int64_t pages) {
    try {
      return std::make_unique<PageFile>(kPage, pages * kPage, GetParam());
    } catch (const Error& e) {
      why_none_ = e.what();
      return nullptr;
    }
  }
  std::string why_none_;
};

#define OPEN_OR_SKIP(file, pages)                     \
  const std::unique_ptr<PageFile> file = open(pages); \
  if (!file) GTEST_SKIP() << why_none_

TEST_P(PageFileTest, HoldsWhatWasCreatedToTheByte) {
  OPEN_OR_SKIP(file, 16);
  EXPECT_EQ(file->kind(), GetParam());
  EXPECT_EQ(file->measured_bytes(), 0);
  std::vector<PageId> pages(5);
  file->create(pages);
  EXPECT_EQ(file->measured_bytes(), 5 * kPage);
  const Addresses addresses(5);
  file->map(addresses.data(), pages);
  std::fill_n(addresses.data(), 5 * kPage, std::byte{3});
  EXPECT_EQ(file->measured_bytes(), 5 * kPage);
  file->unmap(addresses.data(), 5 * kPage);
  file->destroy(std::span(pages).first(2));
  EXPECT_EQ(file->measured_bytes(), 3 * kPage);
  file->destroy(std::span(pages).subspan(2));
  EXPECT_EQ(file->measured_bytes(), 0);
}

TEST_P(PageFileTest, FullFileRefusesAndChangesNothing) {
  OPEN_OR_SKIP(file, 3);
  std::vector<PageId> pages(2), more(2);
  file->create(pages);
  EXPECT_THROW(file->create(more), Error);
  EXPECT_EQ(file->measured_bytes(), 2 * kPage);
  file->create(std::span(more).first(1));
  EXPECT_EQ(file->measured_bytes(), 3 * kPage);
}

TEST_P(PageFileTest, FreedChunksAreUsedAgainTheLowestFirst) {
  OPEN_OR_SKIP(file, 8);
  std::vector<PageId> pages(4);
  file->create(pages);
  file->destroy(std::vector<PageId>{pages[2], pages[0]});
  std::vector<PageId> again(3);
  file->create(again);
  EXPECT_EQ(again, (std::vector<PageId>{pages[0], pages[2], {4}}));
}

TEST_P(PageFileTest, NeighbouringChunksAreOneMapping) {
  OPEN_OR_SKIP(file, 8);
  std::vector<PageId> pages(4);
  file->create(pages);
  const Addresses addresses(8);
  file->map(addresses.data(), pages);
  EXPECT_EQ(file->mappings(), 1);
  file->unmap(addresses.data() + kPage, kPage);
  EXPECT_EQ(file->mappings(), 2);
  file->map(addresses.data() + kPage, std::vector<PageId>{pages[1]});
  EXPECT_EQ(file->mappings(), 1);
  file->map(addresses.data() + 4 * kPage, std::vector<PageId>{pages[3], pages[1]});
  EXPECT_EQ(file->mappings(), 3);
  file->unmap(addresses.data(), 6 * kPage);
  EXPECT_EQ(file->mappings(), 0);
}

TEST_P(PageFileTest, FillReachesPagesThatAreMappedNowhere) {
  OPEN_OR_SKIP(file, 4);
  std::vector<PageId> pages(3);
  file->create(pages);
  file->fill(std::vector<PageId>{pages[2], pages[0]}, 0xab);
  const Addresses addresses(3);
  file->map(addresses.data(), pages);
  EXPECT_EQ(addresses.data()[kPage - 1], std::byte{0xab});
  EXPECT_EQ(addresses.data()[2 * kPage], std::byte{0xab});
  EXPECT_EQ(addresses.data()[kPage], std::byte{0});
}

TEST_P(PageFileTest, MappedPageCannotBeGivenBack) {
  OPEN_OR_SKIP(file, 2);
  std::vector<PageId> page(1);
  file->create(page);
  const Addresses addresses(1);
  file->map(addresses.data(), page);
  EXPECT_DEATH(file->destroy(page), "is given back but is mapped");
}

// Whether a mapping that others can see lies there.
bool is_shared_mapping(const std::byte* data) {
  std::ifstream maps("/proc/self/maps");
  const auto address = reinterpret_cast<uintptr_t>(data);
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    char access[5] = {};
    if (std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, access) != 3) continue;
    if (begin <= address && address < end) return access[3] == 's';
  }
  return false;
}

// What a child wrote to a shared mapping or gave back would be its parent's.
TEST_P(PageFileTest, ForkedChildHasNoPagesAndTakesNoneAway) {
  OPEN_OR_SKIP(file, 4);
  std::vector<PageId> pages(2);
  file->create(pages);
  const Addresses addresses(2);
  file->map(addresses.data(), pages);
  addresses.data()[0] = addresses.data()[kPage] = std::byte{7};
  ASSERT_TRUE(is_shared_mapping(addresses.data()));
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool refused = false;
    std::vector<PageId> more(1);
    try {
      file->create(more);
    } catch (const Error& e) {
      refused = e.code() == ErrorCode::device;
    }
    file->unmap(addresses.data(), 2 * kPage);
    file->destroy(pages);
    _exit((refused ? 0 : 1) + (file->dropped() ? 0 : 2) + (is_shared_mapping(addresses.data()) ? 4 : 0));
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "1: it could create, 2: it has the file, 4: its addresses have pages: "
                       << WEXITSTATUS(status);
  EXPECT_FALSE(file->dropped());
  EXPECT_EQ(addresses.data()[0], std::byte{7});
  EXPECT_EQ(addresses.data()[kPage], std::byte{7});
  EXPECT_EQ(file->measured_bytes(), 2 * kPage);
}

INSTANTIATE_TEST_SUITE_P(Kinds, PageFileTest, testing::Values(PageFileKind::tmpfs, PageFileKind::memfd),
                         [](const auto& info) { return std::string(to_string(info.param)); });

TEST(PageFile, AutomaticTakesWhatTheKernelGives) {
  const PageFile file(kPage, 4 * kPage);
  EXPECT_NE(file.kind(), PageFileKind::automatic);
  EXPECT_EQ(file.why().empty(), file.kind() == PageFileKind::tmpfs) << file.why();
}

}  // namespace
}  // namespace tidemark
