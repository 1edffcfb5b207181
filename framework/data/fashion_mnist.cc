#include "framework/data/fashion_mnist.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "framework/data/idx_file.h"

namespace tidemark::data {
namespace {

constexpr int64_t kSide = 28;
constexpr int64_t kPixels = kSide * kSide;
constexpr int64_t kClasses = 10;
// Of the 60,000 training images, pixels scaled to [0, 1].
constexpr float kPixelMean = 0.2860f;
constexpr float kPixelDeviation = 0.3530f;

struct LabelledImages {
  IdxFile images;
  IdxFile labels;
};

// PATH.gz as the Debian package has it, or unpacked.
std::string existing_file(const std::string& folder, const std::string& name) {
  const std::string packed = folder + "/" + name + ".gz";
  const std::string plain = folder + "/" + name;
  std::error_code ignored;
  if (std::filesystem::exists(packed, ignored)) return packed;
  if (std::filesystem::exists(plain, ignored)) return plain;
  throw Error(ErrorCode::data, "'" + packed +
                                   "' does not exist; install the Debian package dataset-fashion-mnist or set "
                                   "data.path to a folder with the four IDX files");
}

LabelledImages read_split(const std::string& folder, const std::string& prefix) {
  const std::string images_path = existing_file(folder, prefix + "-images-idx3-ubyte");
  const std::string labels_path = existing_file(folder, prefix + "-labels-idx1-ubyte");
  LabelledImages split{read_idx(images_path, {kSide, kSide}), read_idx(labels_path, {})};
  if (split.images.items() != split.labels.items()) {
    throw Error(ErrorCode::data, labels_path + ": offset 4: " + std::to_string(split.labels.items()) + " labels for " +
                                     std::to_string(split.images.items()) + " images in " + images_path);
  }
  for (int64_t i = 0; i < split.labels.items(); ++i) {
    const int label = static_cast<unsigned char>(split.labels.bytes[static_cast<size_t>(i)]);
    if (label < kClasses) continue;
    constexpr int64_t kLabelHeaderBytes = 8;
    throw Error(ErrorCode::data, labels_path + ": offset " + std::to_string(kLabelHeaderBytes + i) + ": label " +
                                     std::to_string(label) + " of image " + std::to_string(i) + " is outside 0 to 9");
  }
  return split;
}

class FashionMnist : public Dataset {
 public:
  FashionMnist(const std::string& folder, int64_t train_samples)
      : train_(read_split(folder, "train")), eval_(read_split(folder, "t10k")) {
    train_size_ = train_.labels.items();
    if (train_samples > 0) train_size_ = std::min(train_size_, train_samples);
    info_ = {.fields = {{"images", {DType::f32, {kSide, kSide, 1}}}, {"labels", {DType::i32, {}}}},
             .classes = kClasses,
             .kind = "fashion_mnist"};
    for (size_t i = 0; i < value_of_pixel_.size(); ++i) {
      value_of_pixel_[i] = (static_cast<float>(i) / 255.0f - kPixelMean) / kPixelDeviation;
    }
  }

  const DataInfo& info() const override { return info_; }
  int64_t size(Split split) const override { return split == Split::train ? train_size_ : eval_.labels.items(); }
  int64_t targets(Split, int64_t) const override { return 1; }

  void read(Split split, int64_t index, std::span<std::byte* const> destinations) const override {
    TM_CHECK(index >= 0 && index < size(split) && destinations.size() == 2, "sample " + std::to_string(index));
    const LabelledImages& source = split == Split::train ? train_ : eval_;
    const char* pixels = source.images.bytes.data() + index * kPixels;
    for (int64_t i = 0; i < kPixels; ++i) {
      const float value = value_of_pixel_[static_cast<unsigned char>(pixels[i])];
      std::memcpy(destinations[0] + i * 4, &value, 4);
    }
    const int32_t label = static_cast<unsigned char>(source.labels.bytes[static_cast<size_t>(index)]);
    std::memcpy(destinations[1], &label, 4);
  }

 private:
  LabelledImages train_;
  LabelledImages eval_;
  int64_t train_size_ = 0;
  DataInfo info_;
  std::array<float, 256> value_of_pixel_{};
};

}  // namespace

void FashionMnistKind::fields(config::Fields& f) {
  f.path("path", path_, "Folder with the four IDX files (Debian package dataset-fashion-mnist).", true);
  f.integer("train_samples", train_samples_, "Training images used, from the first; 0: all.", {.min = 0});
}

std::unique_ptr<Dataset> FashionMnistKind::open(int64_t) const {
  return std::make_unique<FashionMnist>(path_, train_samples_);
}

}  // namespace tidemark::data
