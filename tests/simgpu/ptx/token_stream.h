#pragma once

// A cursor over tokens with the few productions that module level and kernel bodies share. Throws SyntaxError.

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simgpu/ptx/lexer.h"
#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

class TokenStream {
 public:
  explicit TokenStream(const std::vector<Token>& tokens) : tokens_(tokens) {}

  const Token& peek(std::size_t ahead = 0) const;
  Token next();
  bool accept(char c);
  bool accept(std::string_view word);
  void expect(char c);
  std::string expect_name();
  std::uint64_t expect_unsigned();
  bool at_end() const { return peek().kind == Token::Kind::end; }
  [[noreturn]] void fail(const std::string& message) const;

  /// Skips to behind the next `c` outside braces and brackets.
  void skip_past(char c);
  /// Skips a balanced block; the opening brace is next.
  void skip_braces();

  /// A number with its sign, as an integer, float32 or float64 operand.
  Operand parse_number();
  /// `[.align N] [.vN] .type name [sizes] [= initialiser]` behind a state space, any order of the attributes that PTX
  /// allows.
  Variable parse_variable(Variable::Space space);

 private:
  void parse_attributes(Variable& variable);
  void parse_sizes(Variable& variable);
  void parse_initializer(Variable& variable);
  Variable::Initializer parse_initial_value();

  const std::vector<Token>& tokens_;
  std::size_t position_ = 0;
};

}  // namespace simgpu::ptx
