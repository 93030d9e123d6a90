#include <fmt/format.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <optional>

#include "profiler/cli/arguments.h"
#include "profiler/cli/environment.h"
#include "profiler/cli/hello_pipe.h"
#include "profiler/cli/installation.h"
#include "profiler/cli/job.h"
#include "profiler/cli/settings.h"
#include "profiler/cli/verbs.h"

namespace tensorpager::cli {
namespace {

namespace fs = std::filesystem;
using Step = tl::expected<void, std::string>;

/// A temporary link to a folder whose own path the loader would cut in pieces. The link goes when this does.
class PlainFolder {
 public:
  explicit PlainFolder(const fs::path& folder) : path_(folder) {
    if (folder.native().find_first_of(" \t:;") == std::string::npos) return;
    std::string name = (fs::temp_directory_path() / "tensorpager-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error(name + ": " + std::strerror(errno));
    made_ = name;
    path_ = made_ / "lib";
    fs::create_directory_symlink(folder, path_);
  }
  ~PlainFolder() {
    std::error_code ignored;
    if (!made_.empty()) fs::remove_all(made_, ignored);
  }
  PlainFolder(const PlainFolder&) = delete;
  PlainFolder& operator=(const PlainFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_, made_;
};

/// "sim" or "sim:PROFILE": the simulated device's driver, and its runtime library for the job.
Step use_device(const std::string& device, const Installation& installed, const fs::path& folder,
                Environment& environment) {
  if (device.empty()) return {};
  const auto colon = device.find(':');
  if (device.substr(0, colon) != "sim")
    return tl::unexpected(fmt::format("unknown device \"{}\". Write --device sim, or sim:PROFILE.", device));
  if (!fs::exists(installed.simulated / "libcuda.so.1"))
    return tl::unexpected(
        fmt::format("the simulated device is not installed ({} is missing). Configure with -DTENSORPAGER_TESTS=ON.",
                    (installed.simulated / "libcuda.so.1").string()));
  const fs::path simulated = folder / installed.simulated.filename();
  environment.prepend("LD_LIBRARY_PATH", simulated.string());
  environment.set("TENSORPAGER_DRIVER", (simulated / "libcuda.so.1").string());
  if (colon != std::string::npos) environment.set("SIMGPU_PROFILE", device.substr(colon + 1));
  return {};
}

/// The library that a job's LD_PRELOAD holds already is not put there twice.
void preload(const fs::path& library, Environment& environment) {
  const std::string old = environment.get("LD_PRELOAD");
  if (old.find("libtensorpager.so") == std::string::npos) return environment.prepend("LD_PRELOAD", library.string());
  complain(fmt::format("LD_PRELOAD={} names the library already; that one is used.", old));
}

Step prepare(const RunRequest& request, const Installation& installed, const fs::path& folder,
             Environment& environment) {
  for (const CommandLineSetting& setting : request.settings) {
    const auto index = option_reading::find_option(setting.key);
    environment.set(option_reading::variable_name(kOptions[*index]), setting.value);
  }
  if (request.quiet && environment.get("TENSORPAGER_LOG").empty()) environment.set("TENSORPAGER_LOG", "error");
  if (const Step device = use_device(request.device, installed, folder, environment); !device) return device;
  environment.prepend("LD_LIBRARY_PATH", (folder / "links").string());
  preload(folder / installed.library.filename(), environment);
  return {};
}

int show_dry_run(const RunRequest& request, const Environment& environment) {
  std::string line = "env";
  for (const auto& [name, value] : environment.changes()) line += ' ' + name + '=' + shell_quoted(value);
  for (const std::string& word : request.command) line += ' ' + shell_quoted(word);
  fmt::print("{}\n", line);
  return 0;
}

std::string how_it_ended(const std::string& command, const JobEnd& end) {
  const std::string name = fs::path(command).filename().string();
  return end.signal != 0 ? fmt::format("{} was ended by signal {}", name, end.signal)
                         : fmt::format("{} exited {}", name, end.exit_code);
}

void remark(const RunRequest& request, const JobEnd& end, const HelloPipe::Heard& heard) {
  if (!heard.certain || heard.driver_opened) return;
  if (heard.loaded) {
    return complain(
        fmt::format("loaded, but no CUDA call was seen: this program may not use the GPU, or reaches it by a way that "
                    "this version does not "
                    "hook. It ran unmanaged. Check: LD_DEBUG=libs {} 2>&1 | grep libcuda",
                    shell_quoted(request.command[0])));
  }
  complain(fmt::format(
      "{} but the library was never loaded in it (pid {}). Likely: a static binary, setuid, or a wrapper that clears "
      "the environment. Check: file $(command -v {})",
      how_it_ended(request.command[0], end), end.process, shell_quoted(request.command[0])));
}

int run_prepared(const RunRequest& request, bool disabled, Environment& environment) {
  HelloPipe pipe;
  if (const std::string name = pipe.name(); !name.empty()) environment.set("TENSORPAGER_INTERNAL_HELLO", name);
  const JobEnd end = run_job(request.command, environment.entries());
  if (end.start_error != 0)
    complain(fmt::format("{}: {}", request.command[0], std::strerror(end.start_error)));
  else if (!request.quiet && !disabled)
    remark(request, end, pipe.listen());
  return end_like(end);
}

}  // namespace

int run(const Words& words) {
  const auto request = parse_run(words);
  if (!request) return show(request.error());
  const ReadSettings read = read_all_settings(request->settings);
  if (!acceptable(read)) return kUsageError;
  const auto installed = find_installation();
  if (!installed) {
    complain(installed.error());
    return kUsageError;
  }
  const PlainFolder folder(installed->library.parent_path());
  Environment environment(environ);
  if (const Step prepared = prepare(*request, *installed, folder.path(), environment); !prepared) {
    complain(prepared.error());
    return kUsageError;
  }
  return request->dry_run ? show_dry_run(*request, environment)
                          : run_prepared(*request, read.settings.disable, environment);
}

}  // namespace tensorpager::cli
