#include "profiler/cli/environment.h"

#include <algorithm>

namespace tensorpager::cli {

Environment::Environment(const char* const* entries) {
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const std::string_view entry(*entries);
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos) values_.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
}

std::string Environment::get(const std::string& name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::string{} : found->second;
}

void Environment::set(const std::string& name, std::string value) {
  values_[name] = value;
  changes_[name] = std::move(value);
}

void Environment::prepend(const std::string& name, const std::string& value) {
  const std::string old = get(name);
  set(name, old.empty() ? value : value + ':' + old);
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> out;
  for (const auto& [name, value] : values_) out.push_back(name + '=' + value);
  return out;
}

std::string shell_quoted(std::string_view word) {
  constexpr std::string_view kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./@%";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string_view::npos) return std::string(word);
  std::string out = "'";
  for (char c : word) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + '\'';
}

}  // namespace tensorpager::cli
