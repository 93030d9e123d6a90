#include "tests/simgpu/ptx/parser.h"

#include <algorithm>
#include <optional>

#include "tests/simgpu/ptx/token_stream.h"

namespace simgpu::ptx {
namespace {

class ModuleParser {
 public:
  explicit ModuleParser(TokenStream& tokens) : tokens_(tokens) {}

  ModuleSyntax run() {
    while (!tokens_.at_end()) parse_item();
    return std::move(module_);
  }

 private:
  void parse_item() {
    const Token token = tokens_.next();
    if (token.is(';')) return;
    if (token.is(".version") || token.is(".address_size")) return void(tokens_.next());
    if (token.is(".target")) return skip_target();
    if (token.is(".pragma") || token.is(".alias")) return tokens_.skip_past(';');
    external_ = false;
    parse_declaration(token);
  }

  /// Newer targets than the device's are welcome: every instruction is checked for itself.
  void skip_target() {
    do tokens_.expect_name();
    while (tokens_.accept(','));
  }

  void parse_declaration(Token token) {
    for (; token.is(".visible") || token.is(".weak") || token.is(".extern") || token.is(".common");
         token = tokens_.next())
      external_ = external_ || token.is(".extern");
    if (token.is(".entry")) return parse_entry(token.line);
    if (token.is(".func")) return skip_function();
    const auto space = variable_space(token);
    if (!space) throw SyntaxError{token.line, "unknown directive '" + std::string(token.text) + "'"};
    do module_.variables.push_back(tokens_.parse_variable(*space));
    while (tokens_.accept(','));
    module_.variables.back().external = external_;
    tokens_.expect(';');
  }

  static std::optional<Variable::Space> variable_space(const Token& token) {
    if (token.is(".global")) return Variable::Space::global;
    if (token.is(".const")) return Variable::Space::constant;
    if (token.is(".shared")) return Variable::Space::shared;
    return std::nullopt;
  }

  void skip_function() {
    while (!tokens_.at_end()) {
      if (tokens_.accept(';')) return;
      if (tokens_.peek().is('{')) return tokens_.skip_braces();
      tokens_.next();
    }
  }

  void parse_entry(int line) {
    Kernel kernel;
    kernel.line = line;
    kernel.name = tokens_.expect_name();
    if (tokens_.accept('(')) parse_parameters(kernel);
    while (tokens_.peek().kind == Token::Kind::directive) parse_performance_directive(kernel);
    if (tokens_.accept(';')) return;  // a forward declaration
    parse_body(tokens_, kernel);
    module_.kernels.push_back(std::move(kernel));
  }

  void parse_parameters(Kernel& kernel) {
    while (!tokens_.accept(')')) {
      if (!tokens_.accept(".param")) tokens_.fail("expected .param");
      kernel.parameters.push_back(tokens_.parse_variable(Variable::Space::param));
      tokens_.accept(',');
    }
  }

  void parse_performance_directive(Kernel& kernel) {
    const Token directive = tokens_.next();
    std::uint64_t product = 1;
    while (tokens_.peek().kind == Token::Kind::number) {
      product *= tokens_.expect_unsigned();
      tokens_.accept(',');
    }
    const bool limits = directive.is(".maxntid") || directive.is(".reqntid");
    if (limits) kernel.max_threads = static_cast<std::uint32_t>(std::min<std::uint64_t>(product, 1024));
    if (!limits && !directive.is(".minnctapersm") && !directive.is(".maxnreg") && !directive.is(".noreturn"))
      throw SyntaxError{directive.line,
                        "unknown directive '" + std::string(directive.text) + "' of kernel " + kernel.name};
  }

  TokenStream& tokens_;
  ModuleSyntax module_;
  bool external_ = false;
};

}  // namespace

tl::expected<ModuleSyntax, SyntaxError> parse_module(std::string_view source) {
  try {
    const auto tokens = tokenize(source);
    TokenStream stream(tokens);
    return ModuleParser(stream).run();
  } catch (SyntaxError& error) {
    return tl::unexpected(std::move(error));
  }
}

}  // namespace simgpu::ptx
