#include "framework/data/dataset.h"
#include "framework/data/fashion_mnist.h"
#include "framework/data/lines_data.h"
#include "framework/data/text_data.h"

namespace tidemark::data {

std::vector<std::unique_ptr<DataKind>> all_data_kinds() {
  std::vector<std::unique_ptr<DataKind>> kinds;
  kinds.push_back(std::make_unique<FashionMnistKind>());
  kinds.push_back(std::make_unique<TextKind>());
  kinds.push_back(std::make_unique<LinesKind>());
  return kinds;
}

}  // namespace tidemark::data
