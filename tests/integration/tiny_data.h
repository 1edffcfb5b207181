// Small data sets and configurations, written by the tests that use them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tidemark::tests {

// A fresh, empty folder for the running test.
std::string test_folder();

void write_file(const std::string& path, std::string_view contents);

// The four IDX files of a data set of 28x28 images in ten classes that a net can tell apart: FOLDER/train-...,
// FOLDER/t10k-...
void write_images(const std::string& folder, int64_t train_samples, int64_t eval_samples);

// `bytes` of ASCII words that repeat often enough to be learnt.
std::string words(int64_t bytes);

// Lines of 1 to 15 of those bytes.
std::string lines(int64_t count);

// Writes the data and FOLDER/MODEL.yaml, and returns the path of the latter. MODEL: mlp | resnet | gpt | lstm. One
// thread, seed 3, global batch 32, six steps of adamw (resnet: sgd), evaluation at the end; 80 training and 40
// evaluation images, 6,000 bytes of text in windows of 64, or 300 lines, of which a tenth is for evaluation. An epoch
// ends with a smaller batch. No recomputation, and no smaller micro-batches unless memory.micro_batch is set to 0: what
// tests make too large is then too large. Large enough that the plan is several pages of a device.
std::string write_tiny_config(const std::string& folder, const std::string& model);

}  // namespace tidemark::tests
