#include "tests/simgpu/ptx/lexer.h"

#include <cctype>

#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {
namespace {

bool is_word_start(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}
bool is_word_part(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$';
}

class Lexer {
 public:
  explicit Lexer(std::string_view source) : source_(source) {}

  std::vector<Token> run() {
    while (skip_blank(), position_ < source_.size()) {
      if (!skip_debug_directive()) tokens_.push_back(next());
    }
    tokens_.push_back({Token::Kind::end, source_.substr(source_.size()), line_});
    return std::move(tokens_);
  }

 private:
  char at(std::size_t ahead = 0) const {
    return position_ + ahead < source_.size() ? source_[position_ + ahead] : '\0';
  }

  void advance(std::size_t count = 1) {
    for (; count > 0 && position_ < source_.size(); --count)
      if (source_[position_++] == '\n') ++line_;
  }

  void skip_blank() {
    for (;;) {
      if (std::isspace(static_cast<unsigned char>(at())) != 0) {
        advance();
      } else if (at() == '/' && at(1) == '/') {
        skip_line();
      } else if (at() == '/' && at(1) == '*') {
        const auto close = source_.find("*/", position_ + 2);
        if (close == source_.npos) throw SyntaxError{line_, "comment without end"};
        advance(close + 2 - position_);
      } else {
        return;
      }
    }
  }

  void skip_line() {
    while (position_ < source_.size() && at() != '\n') advance();
  }

  void skip_section() {
    const auto close = source_.find('}', position_);
    if (close == source_.npos) throw SyntaxError{line_, ".section without end"};
    advance(close + 1 - position_);
  }

  bool skip_debug_directive() {
    if (at() != '.') return false;
    const std::string_view word = source_.substr(position_, word_length(1));
    if (word == ".loc" || word == ".file") return skip_line(), true;
    if (word == ".section") return skip_section(), true;
    return false;
  }

  /// Length of the word that begins `from` characters ahead, plus `from`.
  std::size_t word_length(std::size_t from) const {
    while (is_word_part(at(from))) ++from;
    return from;
  }

  /// The same with the .modifiers and ::sub-modifiers that follow.
  std::size_t dotted_length(std::size_t from) const {
    from = word_length(from);
    for (;;) {
      const std::size_t dots = at(from) == '.' ? 1 : at(from) == ':' && at(from + 1) == ':' ? 2 : 0;
      if (dots == 0 || !is_word_part(at(from + dots))) return from;
      from = word_length(from + dots);
    }
  }

  Token take(Token::Kind kind, std::size_t length) {
    Token token{kind, source_.substr(position_, length), line_};
    advance(length);
    return token;
  }

  Token next() {
    const char c = at();
    if (is_word_start(c)) return take(Token::Kind::word, dotted_length(0));
    if (c == '%' && is_word_start(at(1))) return take(Token::Kind::reg, dotted_length(1));
    // Directives may touch: .reg.b32.
    if (c == '.' && is_word_start(at(1))) return take(Token::Kind::directive, word_length(1));
    if (std::isdigit(static_cast<unsigned char>(c)) != 0) return take(Token::Kind::number, number_length());
    if (c == '"') return take(Token::Kind::string, string_length());
    return take(Token::Kind::punctuation, 1);
  }

  std::size_t number_length() const {
    std::size_t length = word_length(0);
    if (at(length) == '.' && std::isdigit(static_cast<unsigned char>(at(length + 1))) != 0)
      length = word_length(length + 1);
    return length;
  }

  std::size_t string_length() const {
    const auto close = source_.find('"', position_ + 1);
    if (close == source_.npos) throw SyntaxError{line_, "string without end"};
    return close + 1 - position_;
  }

  std::string_view source_;
  std::size_t position_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) {
  return Lexer(source).run();
}

}  // namespace simgpu::ptx
