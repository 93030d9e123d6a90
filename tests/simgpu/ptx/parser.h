#pragma once

// PTX text to ModuleSyntax. Functions other than kernels are skipped (a call of one is refused where it stands).

#include <string_view>
#include <tl/expected.hpp>

#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

class TokenStream;

tl::expected<ModuleSyntax, SyntaxError> parse_module(std::string_view source);

/// The body of a kernel, from its opening brace to its closing one, into `kernel`. Throws SyntaxError.
void parse_body(TokenStream& tokens, Kernel& kernel);

}  // namespace simgpu::ptx
