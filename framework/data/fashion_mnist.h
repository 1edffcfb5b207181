// Fashion-MNIST: 60,000 training and 10,000 test images of 28 x 28 grey pixels in 10 classes.
// Xiao, Rasul, Vollgraf: "Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms", 2017.
#pragma once

#include "framework/data/dataset.h"

namespace tidemark::data {

// Fields "images" f32[28,28,1], normalised to mean 0 and deviation 1 over the training set, and "labels" i32[].
class FashionMnistKind : public DataKind {
 public:
  std::string_view kind() const override { return "fashion_mnist"; }
  void fields(config::Fields& fields) override;
  std::unique_ptr<Dataset> open(int64_t context) const override;

 private:
  std::string path_ = "/usr/share/datasets/fashion-mnist";
  int64_t train_samples_ = 0;
};

}  // namespace tidemark::data
