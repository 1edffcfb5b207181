// Words of the text form (graph/text.h), with their positions.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace tidemark {

struct Token {
  enum class Kind { word, value, number, string, symbol, end };

  Kind kind = Kind::end;
  std::string text;  // strings: without quotes and escapes; values: without the percent sign
  int line = 1;      // both count from 1; columns are bytes
  int column = 1;
};

// "a", "%x", "the end of the text": for messages.
std::string describe(const Token& token);

// Error(data) "line 3, column 7: WHAT".
Error error_at(const Token& token, std::string_view what);

// A text in quotes, with everything escaped that the lexer does not take as it stands.
std::string quote(std::string_view text);

class TextLexer {
 public:
  // `text` must outlive the lexer. Throws Error(data), as next() does, for what is no token.
  explicit TextLexer(std::string_view text) : text_(text) { advance(); }

  const Token& peek() const { return token_; }
  Token next();

 private:
  void advance();
  void skip_blanks();
  void read_string();
  char read_escape();
  void take_while(bool (*accept)(char));
  char current() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  bool at_end() const { return position_ >= text_.size(); }
  void step();

  std::string_view text_;
  size_t position_ = 0;
  int line_ = 1;
  int column_ = 1;
  Token token_;
};

}  // namespace tidemark
