#include "tests/simgpu/ptx/compile_cache.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <vector>

extern char** environ;

namespace simgpu::ptx {
namespace {

namespace fs = std::filesystem;

// -ffp-contract=off and no fast-math: every rounding stands where PTX has one. -fno-trapping-math changes no value; it
// lets the compiler turn branches into selects.
const std::vector<std::string> kFlags = {"-std=c++20",
                                         "-O3",
                                         "-march=native",
                                         "-ffp-contract=off",
                                         "-fno-math-errno",
                                         "-fno-trapping-math",
                                         "-fno-strict-aliasing",

                                         "-fno-exceptions",
                                         "-fno-rtti",
                                         "-fno-stack-protector",
                                         "-fno-asynchronous-unwind-tables",
                                         "-fvisibility=hidden",
                                         "-fPIC",
                                         "-shared",
                                         "-w"};

/// A job's preloaded library must not be loaded into its compiler.
std::vector<std::string> child_environment() {
  std::vector<std::string> variables;
  for (char** at = environ; *at != nullptr; ++at) {
    const std::string_view variable = *at;
    if (!variable.starts_with("LD_PRELOAD=") && !variable.starts_with("LD_LIBRARY_PATH="))
      variables.emplace_back(variable);
  }
  return variables;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> result;
  for (std::string& word : words) result.push_back(word.data());
  result.push_back(nullptr);
  return result;
}

/// Runs a program with its output in a file. The exit status, or -1.
int run_program(std::vector<std::string> words, const fs::path& output) {
  auto environment = child_environment();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error =
      posix_spawnp(&child, words[0].c_str(), &actions, nullptr, pointers(words).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

std::string read_file(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string first_error(const fs::path& log) {
  std::istringstream lines(read_file(log));
  std::string line;
  std::string first;
  while (std::getline(lines, line)) {
    if (first.empty()) first = line;
    if (line.find("error") != line.npos) return line;
  }
  return first;
}

/// Folders that others may write to are no place for code.
tl::expected<fs::path, LoadError> cache_folder(const LoaderOptions& options) {
  const fs::path folder = options.cache_dir.empty()
                              ? fs::temp_directory_path() / fmt::format("simgpu-kernels-{}", getuid())
                              : fs::path(options.cache_dir);
  std::error_code error;
  fs::create_directories(folder, error);
  if (options.cache_dir.empty()) fs::permissions(folder, fs::perms::owner_all, error);
  if (error)
    return tl::unexpected(
        LoadError{LoadError::Kind::compiler, "the kernel cache " + folder.string() + ": " + error.message()});
  return folder;
}

fs::path temporary_name(const fs::path& folder, std::string_view suffix) {
  static std::atomic<unsigned> counter{0};
  return folder / fmt::format("tmp-{}-{}{}", getpid(), counter++, suffix);
}

/// What -march=native stands for here.
std::string processor_features() {
  std::ifstream lines("/proc/cpuinfo");
  std::string line;
  while (std::getline(lines, line))
    if (line.starts_with("flags")) return line;
  return {};
}

std::string describe_compiler(const std::string& compiler, const fs::path& folder) {
  static std::mutex mutex;
  static std::map<std::string, std::string> known;
  const std::lock_guard lock(mutex);
  std::string& description = known[compiler];
  if (!description.empty()) return description;
  const fs::path output = temporary_name(folder, ".version");
  run_program({compiler, "--version"}, output);
  description = read_file(output) + processor_features();
  fs::remove(output);
  return description;
}

std::string cache_key(const std::string& source, const std::string& compiler, const fs::path& folder) {
  std::string text = describe_compiler(compiler, folder);
  for (const std::string& flag : kFlags) text += flag + '\n';
  text += source;
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

tl::expected<void, LoadError> compile(const std::string& source, const std::string& compiler, const fs::path& folder,
                                      const fs::path& object) {
  const fs::path text = fs::path(object).replace_extension(".cpp");
  const fs::path temporary_text = temporary_name(folder, ".cpp");
  const fs::path temporary = temporary_name(folder, ".so");
  const fs::path log = temporary_name(folder, ".log");
  std::ofstream(temporary_text) << source;
  std::vector<std::string> words{compiler};
  words.insert(words.end(), kFlags.begin(), kFlags.end());
  words.insert(words.end(), {"-o", temporary.string(), temporary_text.string()});
  const int status = run_program(words, log);
  std::string error = status == 0 ? "" : first_error(log);
  fs::remove(log);
  // The source stays beside the object, to be read when a kernel must be debugged.
  fs::rename(temporary_text, text);
  if (status != 0)
    return tl::unexpected(LoadError{LoadError::Kind::compiler,
                                    fmt::format("{} ended with {} on {}: {}", compiler, status, text.string(), error)});
  fs::rename(temporary, object);
  return {};
}

}  // namespace

tl::expected<void*, LoadError> compile_and_open(const std::string& source, const LoaderOptions& options) try {
  const auto folder = cache_folder(options);
  if (!folder) return tl::unexpected(folder.error());
  const std::string compiler = options.compiler.empty() ? "g++" : options.compiler;
  const fs::path object = *folder / (cache_key(source, compiler, *folder) + ".so");
  if (!fs::exists(object))
    if (auto compiled = compile(source, compiler, *folder, object); !compiled) return tl::unexpected(compiled.error());
  if (void* const handle = dlopen(object.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  return tl::unexpected(LoadError{LoadError::Kind::compiler, dlerror()});
} catch (const fs::filesystem_error& error) {
  return tl::unexpected(LoadError{LoadError::Kind::compiler, error.what()});
}

}  // namespace simgpu::ptx
