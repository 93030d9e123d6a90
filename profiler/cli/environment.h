#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tensorpager::cli {

/// The environment of a process to be started.
class Environment {
 public:
  /// Takes over `environ`-like entries.
  explicit Environment(const char* const* entries);

  std::string get(const std::string& name) const;
  void set(const std::string& name, std::string value);
  /// Puts a folder or file before what a colon-separated variable holds.
  void prepend(const std::string& name, const std::string& value);

  /// "NAME=value" entries, sorted by name.
  std::vector<std::string> entries() const;
  /// What differs from the entries taken over.
  const std::map<std::string, std::string>& changes() const { return changes_; }

 private:
  std::map<std::string, std::string> values_, changes_;
};

/// A word as a shell would need it written.
std::string shell_quoted(std::string_view word);

}  // namespace tensorpager::cli
