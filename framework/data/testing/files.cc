#include "framework/data/testing/files.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

namespace tidemark::data {

std::string test_folder() {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const auto path = std::filesystem::path(testing::TempDir()) / (std::string(info->test_suite_name()) + info->name());
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

void write_file(const std::string& path, std::string_view contents) {
  std::filesystem::remove(path);  // some file systems flush a file that is cut to nothing and written again
  std::ofstream out(path, std::ios::binary);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  TM_CHECK(out.good(), "cannot write " + path);
}

std::string gzip(std::string_view contents) {
  z_stream stream{};
  TM_CHECK(deflateInit2(&stream, 6, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  std::string out(deflateBound(&stream, contents.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  TM_CHECK(deflate(&stream, Z_FINISH) == Z_STREAM_END, "deflate");
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::string idx(std::initializer_list<unsigned> dims, std::string_view contents) {
  std::string out = {0, 0, 8, static_cast<char>(dims.size())};
  for (const unsigned dim : dims) {
    for (const int shift : {24, 16, 8, 0}) out += static_cast<char>(dim >> shift & 0xff);
  }
  return out + std::string(contents);
}

}  // namespace tidemark::data
