#include <map>
#include <set>

#include "tests/simgpu/ptx/parser.h"
#include "tests/simgpu/ptx/token_stream.h"

namespace simgpu::ptx {
namespace {

// Names that begin with % but are not declared by .reg.
const std::set<std::string, std::less<>> kSpecialRegisters = {"%tid.x",
                                                              "%tid.y",
                                                              "%tid.z",
                                                              "%ntid.x",
                                                              "%ntid.y",
                                                              "%ntid.z",
                                                              "%ctaid.x",
                                                              "%ctaid.y",
                                                              "%ctaid.z",
                                                              "%nctaid.x",
                                                              "%nctaid.y",
                                                              "%nctaid.z",
                                                              "%laneid",
                                                              "%warpid",
                                                              "%nwarpid",
                                                              "%lanemask_eq",
                                                              "%lanemask_lt",
                                                              "%lanemask_le",
                                                              "%lanemask_gt",
                                                              "%lanemask_ge",
                                                              "%smid",
                                                              "%nsmid",
                                                              "%clock",
                                                              "%clock64",
                                                              "%dynamic_smem_size",
                                                              "%total_smem_size",
                                                              "%globaltimer"};

// { } is both a scope and a vector: braces at the start of a statement are a scope. Inline assembly declares the same
// registers and labels again in a scope of its own.
class BodyParser {
 public:
  BodyParser(TokenStream& tokens, Kernel& kernel) : tokens_(tokens), kernel_(kernel) {}

  void run() {
    open_scope();
    while (!open_.empty()) parse_statement();
    resolve_branches();
  }

 private:
  struct Scope {
    int parent = -1;
    std::map<std::string, int, std::less<>> registers;
    std::map<std::string, int, std::less<>> labels;
  };

  void open_scope() {
    tokens_.expect('{');
    scopes_.push_back({open_.empty() ? -1 : open_.back(), {}, {}});
    open_.push_back(static_cast<int>(scopes_.size()) - 1);
  }

  Scope& scope() { return scopes_[static_cast<std::size_t>(open_.back())]; }

  void parse_statement() {
    if (tokens_.at_end()) tokens_.fail("kernel " + kernel_.name + " without end");
    if (tokens_.peek().is('{')) return open_scope();
    if (tokens_.accept('}')) return open_.pop_back();
    if (tokens_.accept(';')) return;
    if (tokens_.peek().kind == Token::Kind::directive) return parse_directive();
    if (tokens_.peek(1).kind == Token::Kind::punctuation && tokens_.peek(1).is(':')) return parse_label();
    parse_instruction();
  }

  void parse_label() {
    const int line = tokens_.peek().line;
    const auto [_, added] =
        scope().labels.emplace(tokens_.expect_name(), static_cast<int>(kernel_.instructions.size()));
    if (!added) throw SyntaxError{line, "a label is declared twice in kernel " + kernel_.name};
    tokens_.expect(':');
  }

  void parse_directive() {
    const Token directive = tokens_.next();
    if (directive.is(".pragma")) return tokens_.skip_past(';');
    if (directive.is(".reg")) return parse_registers();
    const bool shared = directive.is(".shared");
    if (!shared && !directive.is(".local") && !directive.is(".param"))
      throw SyntaxError{directive.line,
                        "unknown directive '" + std::string(directive.text) + "' in kernel " + kernel_.name};
    const auto space = shared                   ? Variable::Space::shared
                       : directive.is(".local") ? Variable::Space::local
                                                : Variable::Space::param;
    do kernel_.variables.push_back(tokens_.parse_variable(space));
    while (tokens_.accept(','));
    tokens_.expect(';');
  }

  void parse_registers() {
    const Token token = tokens_.next();
    const auto type = parse_type(token.text.substr(1));
    if (!type) throw SyntaxError{token.line, "registers of unknown type '" + std::string(token.text) + "'"};
    do declare_registers(*type);
    while (tokens_.accept(','));
    tokens_.expect(';');
  }

  void declare_registers(Type type) {
    const std::string name = tokens_.expect_name();
    if (!tokens_.accept('<')) return declare_register(name, type);
    const auto count = tokens_.expect_unsigned();
    tokens_.expect('>');
    for (std::uint64_t i = 0; i < count; ++i) declare_register(name + std::to_string(i), type);
  }

  void declare_register(const std::string& name, Type type) {
    scope().registers[name] = static_cast<int>(kernel_.registers.size());
    kernel_.registers.push_back({name, type});
  }

  int find_register(std::string_view name) const {
    for (int at = open_.back(); at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
      const auto& registers = scopes_[static_cast<std::size_t>(at)].registers;
      if (const auto found = registers.find(name); found != registers.end()) return found->second;
    }
    return -1;
  }

  void parse_instruction() {
    Instruction instruction;
    instruction.line = tokens_.peek().line;
    instruction.scope = open_.back();
    if (tokens_.accept('@')) parse_guard(instruction);
    if (tokens_.peek().kind != Token::Kind::word) tokens_.fail("expected an instruction");
    instruction.opcode = tokens_.next().text;
    split_opcode(instruction);
    parse_operands(instruction);
    kernel_.instructions.push_back(std::move(instruction));
  }

  void parse_operands(Instruction& instruction) try {
    while (!tokens_.accept(';')) {
      instruction.operands.push_back(parse_operand());
      if (!tokens_.peek().is(';')) tokens_.expect(',');
    }
  } catch (const SyntaxError& error) {
    throw SyntaxError{error.line, "kernel " + kernel_.name + ": " + instruction.opcode + ": " + error.message};
  }

  void parse_guard(Instruction& instruction) {
    instruction.guard_negated = tokens_.accept('!');
    const std::string name = tokens_.expect_name();
    instruction.guard = find_register(name);
    if (instruction.guard < 0) throw SyntaxError{instruction.line, "unknown predicate " + name};
  }

  /// ::sub-modifiers stay with their modifier: shared::cta.
  static void split_opcode(Instruction& instruction) {
    std::string_view rest = instruction.opcode;
    for (bool first = true; !rest.empty(); first = false) {
      const auto dot = rest.find('.');
      const std::string part(rest.substr(0, dot));
      if (first) instruction.base = part;
      if (!first) instruction.modifiers.push_back(part);
      rest = dot == rest.npos ? std::string_view{} : rest.substr(dot + 1);
    }
  }

  Operand parse_operand() {
    Operand first = parse_simple_operand();
    if (!tokens_.accept('|')) return first;
    Operand pair;
    pair.kind = Operand::Kind::pair;
    pair.elements = {std::move(first), parse_simple_operand()};
    return pair;
  }

  Operand parse_simple_operand() {
    if (tokens_.accept('!')) {
      Operand operand = parse_name();
      operand.negated = true;
      return operand;
    }
    if (tokens_.accept('{')) return parse_elements('}', Operand::Kind::vector);
    if (tokens_.accept('(')) return parse_elements(')', Operand::Kind::list);
    if (tokens_.accept('[')) return parse_address();
    const auto kind = tokens_.peek().kind;
    if (kind == Token::Kind::word || kind == Token::Kind::reg) return parse_name();
    return tokens_.parse_number();
  }

  Operand parse_elements(char close, Operand::Kind kind) {
    Operand operand;
    operand.kind = kind;
    while (!tokens_.accept(close)) {
      operand.elements.push_back(parse_simple_operand());
      tokens_.accept(',');
    }
    return operand;
  }

  Operand parse_address() {
    Operand operand;
    operand.kind = Operand::Kind::address;
    operand.elements.push_back(parse_simple_operand());
    operand.offset = std::exchange(operand.elements[0].offset, 0);
    tokens_.expect(']');
    return operand;
  }

  /// A register, a special register, a symbol or `_`, with what may follow: +offset, [index].
  Operand parse_name() {
    Operand operand;
    const int line = tokens_.peek().line;
    operand.name = tokens_.expect_name();
    operand.reg = find_register(operand.name);
    if (operand.reg >= 0) {
      operand.kind = Operand::Kind::reg;
    } else if (kSpecialRegisters.contains(operand.name) || operand.name == "WARP_SZ") {
      operand.kind = Operand::Kind::special;
    } else if (operand.name == "_") {
      operand.kind = Operand::Kind::sink;
    } else if (operand.name.front() == '%') {
      throw SyntaxError{line, "unknown register " + operand.name};
    } else {
      operand.kind = Operand::Kind::symbol;
    }
    parse_offset(operand);
    return operand;
  }

  void parse_offset(Operand& operand) {
    if (operand.kind != Operand::Kind::symbol && operand.kind != Operand::Kind::reg) return;
    if (tokens_.accept('[')) {
      operand.offset = static_cast<std::int64_t>(tokens_.expect_unsigned());
      tokens_.expect(']');
    }
    if (tokens_.accept('+')) {
      operand.offset += static_cast<std::int64_t>(tokens_.parse_number().value);
    } else if (tokens_.peek().is('-')) {
      operand.offset += static_cast<std::int64_t>(tokens_.parse_number().value);
    }
  }

  void resolve_branches() {
    for (Instruction& instruction : kernel_.instructions) {
      if (instruction.base != "bra") continue;
      if (instruction.operands.size() != 1) throw SyntaxError{instruction.line, "bra without a label"};
      instruction.target = find_label(instruction);
    }
  }

  int find_label(const Instruction& instruction) const {
    const std::string& name = instruction.operands[0].name;
    for (int at = instruction.scope; at >= 0; at = scopes_[static_cast<std::size_t>(at)].parent) {
      const auto& labels = scopes_[static_cast<std::size_t>(at)].labels;
      if (const auto found = labels.find(name); found != labels.end()) return found->second;
    }
    throw SyntaxError{instruction.line, "unknown label " + name};
  }

  TokenStream& tokens_;
  Kernel& kernel_;
  std::vector<Scope> scopes_;
  std::vector<int> open_;
};

}  // namespace

void parse_body(TokenStream& tokens, Kernel& kernel) {
  BodyParser(tokens, kernel).run();
}

}  // namespace simgpu::ptx
