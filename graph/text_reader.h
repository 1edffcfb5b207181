// Reads the parts of the text form that know no graph: symbols, types, attributes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attributes.h"
#include "graph/text_lexer.h"
#include "graph/types.h"

namespace tidemark {

// All but the accept and is functions throw Error(data) "line L, column C: expected WANTED, found ...".
class TextReader {
 public:
  // `text` must outlive the reader.
  explicit TextReader(std::string_view text) : lexer_(text) {}

  const Token& peek() const { return lexer_.peek(); }
  Token next() { return lexer_.next(); }
  Error unexpected(std::string_view wanted) const;

  bool is(Token::Kind kind) const { return peek().kind == kind; }
  bool is_word(std::string_view word) const { return is(Token::Kind::word) && peek().text == word; }
  bool is_symbol(std::string_view symbol) const { return is(Token::Kind::symbol) && peek().text == symbol; }
  bool accept_word(std::string_view word);
  bool accept_symbol(std::string_view symbol);

  Token expect(Token::Kind kind, std::string_view wanted);
  void expect_symbol(std::string_view symbol);

  // A word that `from_string` knows.
  template <class T>
  T named(std::optional<T> (*from_string)(std::string_view), std::string_view wanted) {
    const std::optional<T> value = is(Token::Kind::word) ? from_string(peek().text) : std::nullopt;
    if (!value) throw unexpected(wanted);
    next();
    return *value;
  }

  ValueType type();                 // f32[2,3]; every dimension is at least 1
  Attributes attributes();          // {name=value, "other name"=value}
  std::vector<int64_t> integers();  // [1,2,3]

 private:
  Attribute attribute();

  TextLexer lexer_;
};

}  // namespace tidemark
