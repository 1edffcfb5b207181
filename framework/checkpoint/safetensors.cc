#include "framework/checkpoint/safetensors.h"

#include <algorithm>
#include <bit>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/error.h"

namespace tidemark::checkpoint {
namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "files hold tensors in the machine's own byte order");

constexpr int64_t kLengthBytes = 8;
constexpr int64_t kMaxHeaderBytes = 64 << 20;
constexpr size_t kPieceBytes = 1 << 20;

struct DTypeName {
  DType dtype;
  std::string_view name;
};

constexpr DTypeName kDTypeNames[] = {
    {DType::f32, "F32"}, {DType::bf16, "BF16"}, {DType::i32, "I32"}, {DType::u8, "U8"}};

std::string name_of(DType dtype) {
  for (const DTypeName& entry : kDTypeNames) {
    if (entry.dtype == dtype) return std::string(entry.name);
  }
  TM_CHECK(false, "dtype without a safetensors name");
}

std::optional<DType> dtype_of(const Json& name) {
  for (const DTypeName& entry : kDTypeNames) {
    if (name.is_string() && name.get_ref<const std::string&>() == entry.name) return entry.dtype;
  }
  return std::nullopt;
}

std::string header_of(std::span<const TensorView> tensors) {
  Json header = Json::object();
  int64_t offset = 0;
  for (const TensorView& tensor : tensors) {
    const int64_t bytes = tensor.type.bytes();
    TM_CHECK(static_cast<int64_t>(tensor.bytes.size()) == bytes, "bytes of tensor " + tensor.name);
    TM_CHECK(!header.contains(tensor.name) && tensor.name != "__metadata__", "tensor name " + tensor.name);
    header[tensor.name] = {{"dtype", name_of(tensor.type.dtype)},
                           {"shape", tensor.type.shape.dims()},
                           {"data_offsets", {offset, offset + bytes}}};
    offset += bytes;
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // so that the data starts aligned
  return text;
}

void write_in_pieces(std::span<const std::byte> bytes, const std::function<void(std::span<const std::byte>)>& write) {
  while (!bytes.empty()) {
    const size_t count = std::min(bytes.size(), kPieceBytes);
    write(bytes.first(count));
    bytes = bytes.subspan(count);
  }
}

class HeaderReader {
 public:
  explicit HeaderReader(const InputFile& file) : file_(file) {}

  std::vector<StoredTensor> read() {
    const Json header = parse();
    std::vector<StoredTensor> tensors;
    for (const auto& [name, entry] : header.items()) {
      if (name != "__metadata__") tensors.push_back(tensor(name, entry));
    }
    check_ranges(tensors);
    return tensors;
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw Error(ErrorCode::data, file_.path() + ": " + what); }

  Json parse() {
    if (file_.bytes() < kLengthBytes)
      refuse("offset " + std::to_string(file_.bytes()) + ": the file ends in the header length");
    uint64_t length = 0;
    file_.read_at(0, std::as_writable_bytes(std::span(&length, 1)));
    if (length > kMaxHeaderBytes || static_cast<int64_t>(length) > file_.bytes() - kLengthBytes) {
      refuse("offset 0: header length " + std::to_string(length) + " in a file of " + std::to_string(file_.bytes()) +
             " bytes");
    }
    data_begin_ = kLengthBytes + static_cast<int64_t>(length);
    std::string text(length, '\0');
    file_.read_at(kLengthBytes, std::as_writable_bytes(std::span(text)));
    return parse_json(text);
  }

  Json parse_json(const std::string& text) {
    std::set<std::string> names;
    const auto distinct = [&](int depth, Json::parse_event_t event, Json& parsed) {
      if (depth != 1 || event != Json::parse_event_t::key) return true;
      if (!names.insert(parsed.get<std::string>()).second)
        refuse("tensor '" + parsed.get<std::string>() + "' is there twice");
      return true;
    };
    Json header;
    try {
      header = Json::parse(text, distinct);
    } catch (const nlohmann::json::exception& e) {
      refuse(std::string("offset 8: the header is no JSON: ") + e.what());
    }
    if (!header.is_object()) refuse("offset 8: the header is no JSON object");
    return header;
  }

  StoredTensor tensor(const std::string& name, const Json& entry) const {
    const bool complete = entry.is_object() && entry.size() == 3 && entry.contains("dtype") &&
                          entry.contains("shape") && entry.contains("data_offsets");
    if (!complete) refuse("tensor '" + name + "' needs dtype, shape and data_offsets");
    const std::optional<DType> dtype = dtype_of(entry["dtype"]);
    if (!dtype) refuse("tensor '" + name + "' has the unknown dtype " + entry["dtype"].dump());
    const std::vector<int64_t> dims = sizes(name, entry["shape"]);
    const std::vector<int64_t> range = sizes(name, entry["data_offsets"]);
    int64_t bytes = size_bytes(*dtype);
    bool fits = true;
    for (const int64_t dim : dims) fits = fits && !__builtin_mul_overflow(bytes, dim, &bytes);
    const int64_t data_bytes = file_.bytes() - data_begin_;
    if (!fits || range.size() != 2 || range[1] > data_bytes || range[0] > range[1] || range[1] - range[0] != bytes) {
      refuse("tensor '" + name + "' of shape " + entry["shape"].dump() + " has the wrong byte range " +
             entry["data_offsets"].dump() + " of " + std::to_string(data_bytes));
    }
    return {name, {*dtype, Shape(dims)}, data_begin_ + range[0]};
  }

  std::vector<int64_t> sizes(const std::string& name, const Json& list) const {
    std::vector<int64_t> values;
    bool right = list.is_array();
    for (size_t i = 0; right && i < list.size(); ++i) {
      right = list[i].is_number_unsigned() && list[i].get<uint64_t>() <= static_cast<uint64_t>(INT64_MAX);
      if (right) values.push_back(list[i].get<int64_t>());
    }
    if (!right) refuse("tensor '" + name + "': " + list.dump() + " is no list of sizes");
    return values;
  }

  // Every byte after the header belongs to exactly one tensor.
  void check_ranges(std::vector<StoredTensor> tensors) const {
    const auto place = [](const StoredTensor& t) { return std::pair(t.offset, t.offset + t.type.bytes()); };
    std::sort(tensors.begin(), tensors.end(), [&](const auto& a, const auto& b) { return place(a) < place(b); });
    int64_t end = data_begin_;
    for (const StoredTensor& tensor : tensors) {
      if (tensor.offset != end)
        refuse("offset " + std::to_string(end) + ": gap or overlap before tensor '" + tensor.name + "'");
      end += tensor.type.bytes();
    }
    if (end != file_.bytes()) refuse("offset " + std::to_string(end) + ": bytes that belong to no tensor");
  }

  const InputFile& file_;
  int64_t data_begin_ = 0;
};

}  // namespace

void write_safetensors(std::span<const TensorView> tensors,
                       const std::function<void(std::span<const std::byte>)>& write) {
  const std::string header = header_of(tensors);
  const uint64_t length = header.size();
  write(std::as_bytes(std::span(&length, 1)));
  write_in_pieces(std::as_bytes(std::span(header)), write);
  for (const TensorView& tensor : tensors) write_in_pieces(tensor.bytes, write);
}

std::vector<StoredTensor> read_safetensors_header(const InputFile& file) { return HeaderReader(file).read(); }

}  // namespace tidemark::checkpoint
