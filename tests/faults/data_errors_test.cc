// A data file that is not what it should be ends the program with exit code 4 and a line with the file and the offset.
#include <gtest/gtest.h>
#include <zlib.h>

#include <cstdio>

#include "tests/integration/program.h"
#include "tests/integration/tiny_data.h"

namespace tidemark::tests {
namespace {

std::string gzipped(const std::string& text) {
  const std::string path = ::testing::TempDir() + "/packed.gz";
  gzFile file = ::gzopen(path.c_str(), "wb");
  EXPECT_EQ(::gzwrite(file, text.data(), static_cast<unsigned>(text.size())), static_cast<int>(text.size()));
  ::gzclose(file);
  return path;
}

std::string contents(const std::string& path) {
  std::string text(1 << 20, '\0');
  std::FILE* file = std::fopen(path.c_str(), "rb");
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  return text;
}

class DataErrors : public ::testing::Test {
 protected:
  void SetUp() override { folder_ = test_folder(); }

  void expect_refused(const std::string& model, const std::string& file, const std::string& offset) {
    for (const char* command : {"train", "plan"}) {
      const Finished finished = run_program(folder_, {command, "--json", "-c", folder_ + "/" + model + ".yaml"});
      EXPECT_EQ(finished.exit_code, 4) << finished.err;
      EXPECT_EQ(finished.out, "");
      EXPECT_NE(finished.err.find(file), std::string::npos) << finished.err;
      EXPECT_NE(finished.err.find("offset " + offset), std::string::npos) << finished.err;
    }
  }

  std::string images(const char* name) {
    write_tiny_config(folder_, "mlp");
    return folder_ + "/images/" + name;
  }

  std::string folder_;
};

TEST_F(DataErrors, TruncatedGzip) {
  const std::string plain = images("train-images-idx3-ubyte");
  std::string packed = contents(gzipped(contents(plain)));
  packed.resize(packed.size() / 2);
  write_file(plain + ".gz", packed);
  expect_refused("mlp", "train-images-idx3-ubyte.gz", std::to_string(packed.size()));
}

TEST_F(DataErrors, WrongMagicNumber) {
  const std::string path = images("t10k-images-idx3-ubyte");
  std::string text = contents(path);
  text[2] = 9;
  write_file(path, text);
  expect_refused("mlp", "t10k-images-idx3-ubyte", "0");
}

TEST_F(DataErrors, LabelOutOfRange) {
  const std::string path = images("train-labels-idx1-ubyte");
  std::string text = contents(path);
  text[8 + 5] = 10;
  write_file(path, text);
  expect_refused("mlp", "train-labels-idx1-ubyte", "13");
}

TEST_F(DataErrors, FileCutShort) {
  const std::string path = images("train-images-idx3-ubyte");
  std::string text = contents(path);
  text.resize(text.size() - 7);
  write_file(path, text);
  expect_refused("mlp", "train-images-idx3-ubyte", std::to_string(text.size()));
}

TEST_F(DataErrors, EmptyText) {
  write_tiny_config(folder_, "gpt");
  write_file(folder_ + "/text.txt", "");
  expect_refused("gpt", "text.txt", "0");
}

TEST_F(DataErrors, TextThatIsNotUtf8) {
  write_tiny_config(folder_, "gpt");
  std::string text = words(2000);
  text[777] = static_cast<char>(0xff);
  write_file(folder_ + "/text.txt", text);
  expect_refused("gpt", "text.txt", "777");
}

}  // namespace
}  // namespace tidemark::tests
