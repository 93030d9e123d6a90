#pragma once

// PTX text to tokens. Comments go; so does what only debuggers read: .loc and .file (which end with the line, not with
// a semicolon, and may follow a label on it) and .section with its braces.

#include <string_view>
#include <vector>

namespace simgpu::ptx {

struct Token {
  enum class Kind {
    word,       ///< a symbol, a label, or an opcode with all its modifiers: ld.global.v4.f32
    directive,  ///< .reg, .f32, .param
    reg,        ///< %r1, %tid.x, and other names that begin with %
    number,     ///< 12, 0x1F, 0f3F800000, 10U; a sign is a token of its own
    string,
    punctuation,
    end,
  };
  Kind kind = Kind::end;
  std::string_view text;  ///< points into the source
  int line = 0;

  bool is(char c) const { return kind == Kind::punctuation && text.front() == c; }
  bool is(std::string_view word) const { return text == word; }
};

/// The last token is `end`. Throws SyntaxError. The tokens live as long as `source`.
std::vector<Token> tokenize(std::string_view source);

}  // namespace simgpu::ptx
