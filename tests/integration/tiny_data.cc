#include "tests/integration/tiny_data.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <initializer_list>

#include "base/error.h"
#include "base/philox.h"

namespace tidemark::tests {
namespace {

constexpr int64_t kSide = 28;
constexpr int kClasses = 10;

std::string idx_header(std::initializer_list<int64_t> dims) {
  std::string header = {0, 0, 8, static_cast<char>(dims.size())};
  for (const int64_t dim : dims)
    for (const int shift : {24, 16, 8, 0}) header += static_cast<char>(dim >> shift & 0xff);
  return header;
}

// Noise with as many bright rows as the class says: nets with and without a sense of place can tell.
std::string image(int label, uint32_t sample) {
  std::string pixels(kSide * kSide, '\0');
  for (size_t i = 0; i < pixels.size(); i += 4) {
    const Philox4 bits = random_block({.seed = 17, .step = 0, .sample = sample, .op = 0}, static_cast<uint32_t>(i / 4));
    for (size_t k = 0; k < 4; ++k) pixels[i + k] = static_cast<char>(bits.word[k] & 0x3f);
  }
  for (int row = 4; row < 4 + 2 * label; ++row)
    for (int x = 4; x < 24; ++x) pixels[static_cast<size_t>(row * kSide + x)] = static_cast<char>(200);
  return pixels;
}

void write_split(const std::string& prefix, int64_t samples, uint32_t first) {
  std::string images = idx_header({samples, kSide, kSide}), labels = idx_header({samples});
  for (int64_t i = 0; i < samples; ++i) {
    const int label = static_cast<int>((i * 7 + first) % kClasses);
    images += image(label, first + static_cast<uint32_t>(i));
    labels += static_cast<char>(label);
  }
  write_file(prefix + "-images-idx3-ubyte", images);
  write_file(prefix + "-labels-idx1-ubyte", labels);
}

std::string model_yaml(const std::string& model) {
  if (model == "mlp") return "model: {kind: mlp, hidden: [384, 256], dropout: 0.1}\n";
  if (model == "resnet") return "model: {kind: resnet, width: 8, blocks: [1, 1]}\n";
  if (model == "lstm") return "model: {kind: lstm, layers: 2, width: 32, embedding: 16, dropout: 0.1}\n";
  TM_CHECK(model == "gpt", "tiny model '" + model + "'");
  return "model: {kind: gpt, layers: 2, heads: 2, width: 32, context: 64, dropout: 0.1}\n";
}

}  // namespace

std::string test_folder() {
  const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
  std::string name = std::string(info->test_suite_name()) + "." + info->name();
  for (char& c : name)
    if (c == '/') c = '_';
  const auto path = std::filesystem::path(::testing::TempDir()) / name;
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path.string();
}

void write_file(const std::string& path, std::string_view contents) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(contents.data(), static_cast<std::streamsize>(contents.size()));
  TM_CHECK(out.good(), "cannot write " + path);
}

void write_images(const std::string& folder, int64_t train_samples, int64_t eval_samples) {
  std::filesystem::create_directories(folder);
  write_split(folder + "/train", train_samples, 0);
  write_split(folder + "/t10k", eval_samples, 1'000'000);
}

std::string words(int64_t bytes) {
  constexpr std::string_view kWords[] = {"the ", "tide ", "comes ", "and ", "goes ", "out ", "with ", "sand.\n"};
  std::string text;
  for (uint32_t i = 0; static_cast<int64_t>(text.size()) < bytes; ++i)
    text += kWords[random_block({.seed = 23, .step = 0, .sample = 0, .op = 0}, i).word[0] % std::size(kWords)];
  text.resize(static_cast<size_t>(bytes));
  return text;
}

std::string lines(int64_t count) {
  const std::string text = words(16 * count);
  std::string out;
  size_t at = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t length = 1 + random_block({.seed = 29, .step = 0, .sample = 0, .op = 0}, i).word[0] % 15;
    std::string line = text.substr(at, length);
    for (char& c : line)
      if (c == '\n') c = ' ';
    out += line + '\n';
    at += length;
  }
  return out;
}

std::string write_tiny_config(const std::string& folder, const std::string& model) {
  std::string data;
  if (model == "gpt") {
    write_file(folder + "/text.txt", words(6000));
    data = "data: {kind: text, path: text.txt}\n";
  } else if (model == "lstm") {
    write_file(folder + "/lines.txt", lines(300));
    data = "data: {kind: lines, path: lines.txt}\n";
  } else {
    write_images(folder + "/images", 80, 40);
    data = "data: {kind: fashion_mnist, path: images}\n";
  }
  const std::string optimizer = model == "resnet" ? "sgd, lr: 0.05" : "adamw, lr: 2.0e-3, weight_decay: 0.01";
  const std::string norm = model == "resnet" ? ", norm_batch: 8, micro_batch: 32" : "";
  const std::string path = folder + "/" + model + ".yaml";
  write_file(path, model_yaml(model) + data + "train: {global_batch: 32, steps: 6, optimizer: " + optimizer +
                       ", threads: 1, seed: 3, eval_every: 6}\n" + "memory: {recompute: none" + norm +
                       "}\ndevice: cpu\n");
  return path;
}

}  // namespace tidemark::tests
