#include "graph/text_reader.h"

#include <charconv>

namespace tidemark {
namespace {

using Kind = Token::Kind;

template <class T>
bool parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace

Error TextReader::unexpected(std::string_view wanted) const {
  return error_at(peek(), "expected " + std::string(wanted) + ", found " + describe(peek()));
}

bool TextReader::accept_word(std::string_view word) {
  if (!is_word(word)) return false;
  next();
  return true;
}

bool TextReader::accept_symbol(std::string_view symbol) {
  if (!is_symbol(symbol)) return false;
  next();
  return true;
}

Token TextReader::expect(Kind kind, std::string_view wanted) {
  if (!is(kind)) throw unexpected(wanted);
  return next();
}

void TextReader::expect_symbol(std::string_view symbol) {
  if (!accept_symbol(symbol)) throw unexpected("'" + std::string(symbol) + "'");
}

ValueType TextReader::type() {
  const Token start = peek();
  ValueType type;
  type.dtype = named(dtype_from_string, "a dtype (f32, bf16, i32 or u8)");
  type.shape = Shape(integers());
  for (int64_t dim : type.shape.dims()) {
    if (dim < 1) throw error_at(start, "the type " + to_string(type) + " is empty");
  }
  try {
    type.bytes();
  } catch (const Error& error) {
    throw error_at(start, error.what());
  }
  return type;
}

Attributes TextReader::attributes() {
  Attributes attributes;
  expect_symbol("{");
  do {
    const Token name = is(Kind::string) ? next() : expect(Kind::word, "the name of an attribute");
    if (attributes.has(name.text)) throw error_at(name, "attribute " + describe(name) + " is given twice");
    expect_symbol("=");
    attributes.set(name.text, attribute());
  } while (accept_symbol(","));
  expect_symbol("}");
  return attributes;
}

Attribute TextReader::attribute() {
  if (is_symbol("[")) return integers();
  if (is(Kind::string)) return next().text;
  if (accept_word("true")) return true;
  if (accept_word("false")) return false;
  if (!is(Kind::word) && !is(Kind::number)) throw unexpected("the value of an attribute");
  const Token token = next();
  if (int64_t integer = 0; parse_whole(token.text, integer)) return integer;
  if (double real = 0; parse_whole(token.text, real)) return real;  // inf and nan as well
  throw error_at(token, describe(token) + " is no attribute: true, false, a number, a text in quotes or a list");
}

std::vector<int64_t> TextReader::integers() {
  std::vector<int64_t> integers;
  expect_symbol("[");
  if (accept_symbol("]")) return integers;
  do {
    const Token token = expect(Kind::number, "an integer");
    if (!parse_whole(token.text, integers.emplace_back())) {
      throw error_at(token, describe(token) + " is no integer of 64 bits");
    }
  } while (accept_symbol(","));
  expect_symbol("]");
  return integers;
}

}  // namespace tidemark
