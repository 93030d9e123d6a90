#pragma once

// The modifiers of one instruction, taken one by one: what nobody took is a form that is not known.

#include <algorithm>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simgpu/ptx/syntax.h"

namespace simgpu::ptx {

class Modifiers {
 public:
  explicit Modifiers(const Instruction& instruction)
      : rest_(instruction.modifiers.begin(), instruction.modifiers.end()) {}

  bool take(std::string_view word) {
    const auto found = std::find(rest_.begin(), rest_.end(), word);
    if (found == rest_.end()) return false;
    rest_.erase(found);
    return true;
  }

  /// The first of the words that is there, or an empty view.
  std::string_view take_one(std::initializer_list<std::string_view> words) {
    for (const auto word : words)
      if (take(word)) return word;
    return {};
  }

  void drop(std::initializer_list<std::string_view> words) {
    for (const auto word : words) take(word);
  }

  void drop_prefixed(std::string_view prefix) {
    std::erase_if(rest_, [prefix](std::string_view word) { return word.starts_with(prefix); });
  }

  /// The last modifier, if it is a type.
  std::optional<Type> take_type() {
    if (rest_.empty()) return std::nullopt;
    const auto type = parse_type(rest_.back());
    if (type) rest_.pop_back();
    return type;
  }

  bool empty() const { return rest_.empty(); }

  std::string text() const {
    std::string joined;
    for (const auto word : rest_) joined += (joined.empty() ? "" : " ") + std::string(word);
    return joined;
  }

 private:
  std::vector<std::string_view> rest_;
};

}  // namespace simgpu::ptx
