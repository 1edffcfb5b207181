#include "graph/text_lexer.h"

namespace tidemark {
namespace {

constexpr std::string_view kHexDigits = "0123456789abcdef";

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '.'; }
bool is_value(char c) { return is_word(c) || c == '/' || c == '-'; }
bool is_number(char c) { return is_word(c) || c == '+' || c == '-'; }
bool is_symbol(char c) { return std::string_view("{}()[]:=,").find(c) != std::string_view::npos; }

}  // namespace

std::string describe(const Token& token) {
  switch (token.kind) {
    case Token::Kind::end:
      return "the end of the text";
    case Token::Kind::value:
      return "'%" + token.text + "'";
    case Token::Kind::string:
      return quote(token.text);
    default:
      return "'" + token.text + "'";
  }
}

Error error_at(const Token& token, std::string_view what) {
  return Error(ErrorCode::data, "line " + std::to_string(token.line) + ", column " + std::to_string(token.column) +
                                    ": " + std::string(what));
}

std::string quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += {'\\', c};
    } else if (byte < 0x20 || byte == 0x7f) {
      quoted += {'\\', 'x', kHexDigits[byte / 16], kHexDigits[byte % 16]};
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

Token TextLexer::next() {
  Token token = std::move(token_);
  advance();
  return token;
}

void TextLexer::step() {
  if (text_[position_] == '\n') {
    ++line_;
    column_ = 1;
  } else {
    ++column_;
  }
  ++position_;
}

void TextLexer::skip_blanks() {
  while (!at_end()) {
    if (current() == '#') {
      while (!at_end() && current() != '\n') step();
    } else if (std::string_view(" \t\r\n").find(current()) == std::string_view::npos) {
      return;
    } else {
      step();
    }
  }
}

void TextLexer::take_while(bool (*accept)(char)) {
  while (!at_end() && accept(current())) {
    token_.text += current();
    step();
  }
}

void TextLexer::advance() {
  skip_blanks();
  token_ = {.kind = Token::Kind::end, .text = "", .line = line_, .column = column_};
  if (at_end()) return;
  const char first = current();
  if (is_letter(first)) {
    token_.kind = Token::Kind::word;
    take_while(is_word);
  } else if (is_digit(first) || first == '-' || first == '+') {
    token_.kind = Token::Kind::number;
    take_while(is_number);
  } else if (first == '%') {
    token_.kind = Token::Kind::value;
    step();
    take_while(is_value);
    if (token_.text.empty()) throw error_at(token_, "a value needs a name after '%'");
  } else if (first == '"') {
    read_string();
  } else if (is_symbol(first)) {
    token_.kind = Token::Kind::symbol;
    token_.text = first;
    step();
  } else {
    throw error_at(token_, "unexpected character " + quote({&first, 1}));
  }
}

void TextLexer::read_string() {
  token_.kind = Token::Kind::string;
  step();
  while (!at_end() && current() != '"' && current() != '\n') {
    const char c = current();
    step();
    token_.text += c == '\\' ? read_escape() : c;
  }
  if (current() != '"') throw error_at(token_, "the string does not end on its line");
  step();
}

// What follows a backslash: itself, or x and two hexadecimal digits.
char TextLexer::read_escape() {
  const char kind = current();
  if (kind == '"' || kind == '\\') {
    step();
    return kind;
  }
  int code = 0;
  for (int i = 0; i < 3 && !at_end(); ++i) {
    const size_t digit = kHexDigits.find(current());
    if (i == 0 ? current() != 'x' : digit == std::string_view::npos) break;
    if (i > 0) code = code * 16 + static_cast<int>(digit);
    step();
    if (i == 2) return static_cast<char>(code);
  }
  throw error_at({.line = line_, .column = column_}, R"(an escape is \", \\ or \xHH)");
}

}  // namespace tidemark
