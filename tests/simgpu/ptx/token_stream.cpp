#include "tests/simgpu/ptx/token_stream.h"

#include <charconv>

namespace simgpu::ptx {
namespace {

std::uint64_t parse_digits(std::string_view text, int base, int line) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  if (error != std::errc{} || end != text.data() + text.size())
    throw SyntaxError{line, "malformed number '" + std::string(text) + "'"};
  return value;
}

std::uint64_t parse_integer(std::string_view text, int line) {
  if (text.size() > 1 && (text.back() == 'U' || text.back() == 'u')) text.remove_suffix(1);
  if (text.starts_with("0x") || text.starts_with("0X")) return parse_digits(text.substr(2), 16, line);
  if (text.starts_with("0b") || text.starts_with("0B")) return parse_digits(text.substr(2), 2, line);
  const bool octal = text.size() > 1 && text.front() == '0';
  return parse_digits(text, octal ? 8 : 10, line);
}

}  // namespace

const Token& TokenStream::peek(std::size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token TokenStream::next() {
  const Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool TokenStream::accept(char c) {
  if (at_end() || !peek().is(c)) return false;
  next();
  return true;
}

bool TokenStream::accept(std::string_view word) {
  if (peek().text != word) return false;
  next();
  return true;
}

void TokenStream::fail(const std::string& message) const {
  throw SyntaxError{peek().line, message + (at_end() ? " at the end" : " before '" + std::string(peek().text) + "'")};
}

void TokenStream::expect(char c) {
  if (!accept(c)) fail(std::string("expected '") + c + "'");
}

std::string TokenStream::expect_name() {
  if (peek().kind != Token::Kind::word && peek().kind != Token::Kind::reg) fail("expected a name");
  return std::string(next().text);
}

std::uint64_t TokenStream::expect_unsigned() {
  if (peek().kind != Token::Kind::number) fail("expected a number");
  const Token token = next();
  return parse_integer(token.text, token.line);
}

void TokenStream::skip_past(char c) {
  while (!at_end()) {
    if (peek().is('{')) {
      skip_braces();
    } else if (next().is(c)) {
      return;
    }
  }
  fail(std::string("expected '") + c + "'");
}

void TokenStream::skip_braces() {
  expect('{');
  for (int depth = 1; depth > 0;) {
    if (at_end()) fail("unbalanced braces");
    const Token token = next();
    depth += token.is('{') ? 1 : token.is('}') ? -1 : 0;
  }
}

Operand TokenStream::parse_number() {
  const bool negative = accept('-');
  if (!negative) accept('+');
  if (peek().kind != Token::Kind::number) fail("expected a number");
  const Token token = next();
  Operand operand;
  const auto prefix = token.text.substr(0, 2);
  const bool single = prefix == "0f" || prefix == "0F";
  if (single || prefix == "0d" || prefix == "0D") {
    if (token.text.size() != (single ? 10U : 18U) || negative) throw SyntaxError{token.line, "malformed float literal"};
    operand.kind = single ? Operand::Kind::float32 : Operand::Kind::float64;
    operand.value = parse_digits(token.text.substr(2), 16, token.line);
    return operand;
  }
  operand.kind = Operand::Kind::integer;
  operand.value = parse_integer(token.text, token.line);
  if (negative) operand.value = 0 - operand.value;
  return operand;
}

void TokenStream::parse_attributes(Variable& variable) {
  while (peek().kind == Token::Kind::directive) {
    const Token token = next();
    const std::string_view word = token.text;
    if (word == ".align") {
      variable.alignment = static_cast<std::uint32_t>(expect_unsigned());
    } else if (word == ".v2" || word == ".v4") {
      variable.elements *= word == ".v2" ? 2 : 4;
    } else if (word == ".attribute") {
      skip_past(')');
    } else if (const auto type = parse_type(word.substr(1))) {
      variable.type = *type;
    } else if (word != ".ptr" && word != ".global" && word != ".shared" && word != ".const" && word != ".local") {
      throw SyntaxError{token.line, "unknown attribute '" + std::string(word) + "' of a variable"};
    }
  }
}

void TokenStream::parse_sizes(Variable& variable) {
  while (accept('[')) {
    if (accept(']')) {
      variable.unsized = true;
      continue;
    }
    variable.elements *= expect_unsigned();
    expect(']');
  }
}

Variable::Initializer TokenStream::parse_initial_value() {
  Variable::Initializer value;
  if (peek().kind != Token::Kind::word) {
    value.bits = parse_number().value;
    return value;
  }
  const bool generic = accept("generic");
  if (generic) expect('(');
  value.symbol = expect_name();
  if (generic) expect(')');
  if (peek().is('+') || peek().is('-')) value.bits = parse_number().value;
  return value;
}

void TokenStream::parse_initializer(Variable& variable) {
  if (!accept('{')) {
    variable.initializers.push_back(parse_initial_value());
    return;
  }
  for (int depth = 1; depth > 0;) {
    if (accept('{')) {
      ++depth;
    } else if (accept('}')) {
      --depth;
    } else if (!accept(',')) {
      variable.initializers.push_back(parse_initial_value());
    }
  }
}

Variable TokenStream::parse_variable(Variable::Space space) {
  Variable variable;
  variable.space = space;
  variable.line = peek().line;
  variable.alignment = 0;
  parse_attributes(variable);
  variable.name = expect_name();
  parse_sizes(variable);
  if (variable.unsized && variable.elements == 1) variable.elements = 0;
  if (accept('=')) parse_initializer(variable);
  if (variable.unsized && !variable.initializers.empty()) variable.elements = variable.initializers.size();
  if (variable.alignment == 0) variable.alignment = std::max(1U, bit_width(variable.type) / 8);
  return variable;
}

}  // namespace simgpu::ptx
