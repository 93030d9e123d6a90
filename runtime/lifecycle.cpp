#include "runtime/lifecycle.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <mutex>

#include "policies/registry.h"
#include "runtime/driver.h"
#include "runtime/log.h"
#include "runtime/statistics.h"

extern "C" char** environ;

namespace tensorpager {
namespace {

std::atomic<State> g_state{State::dormant};
std::atomic<Pager*> g_pager{nullptr};
std::atomic<const DeviceFacts*> g_observed{nullptr};
std::mutex g_attach_mutex;
pid_t g_process = 0;  // a forked child must not write its parent's files

// Threads of the job may still be inside when static objects die, so what they use is never destroyed.
Settings& stored_settings() noexcept {
  static Settings& instance = *new Settings;
  return instance;
}

std::string expand(const std::string& pattern) {
  char host[65] = "?";
  gethostname(host, sizeof host - 1);
  return pattern.empty() ? pattern : expand_pattern(pattern, getpid(), host);
}

LogLevel log_level(const std::string& word) noexcept {
  if (word == "error") return LogLevel::error;
  if (word == "info") return LogLevel::info;
  return word == "debug" ? LogLevel::debug : LogLevel::warn;
}

ReadSettings read() noexcept {
  OptionSources sources;
  sources.environment = environ;
  for (const PolicyInfo& policy : policies()) sources.policies.push_back(policy.name);
  return read_settings(sources);
}

// A child of fork has its parent's addresses and none of its threads or device state: CUDA does not work in it, and it
// must not touch a mutex that another thread of the parent may have held. It only forwards.
void in_child() noexcept {
  g_state.store(State::pass_through, std::memory_order_relaxed);
}

/// The state that the settings ask for; says what is wrong with them.
State choose_state(const ReadSettings& result) {
  for (const Problem& problem : result.problems) {
    const bool fatal = problem.is_error();
    if (fatal) {
      format_log(LogLevel::error, "settings", "{} Nothing is managed.", problem.message);
      return State::pass_through;
    }
    format_log(LogLevel::warn, "settings", "{}", problem.message);
  }
  if (!result.usable()) return State::pass_through;
  const PolicyInfo* policy = find_policy(result.settings.effective_policy());
  return policy != nullptr && policy->moves ? State::paging : State::observing;
}

void start(DriverLookup find) {
  ReadSettings result = read();
  configure_log(log_level(result.settings.log), expand(result.settings.log_file));
  const State wanted = result.settings.disable ? State::pass_through : choose_state(result);
  stored_settings() = std::move(result.settings);
  g_process = getpid();
  if (wanted == State::pass_through) return fall_back(nullptr);
  if (const std::string_view missing = load_driver(find); !missing.empty()) {
    format_log(LogLevel::warn, "driver", "the driver lacks {}. Nothing is managed", missing);
    return fall_back(nullptr);
  }
  pthread_atfork(nullptr, nullptr, in_child);
  g_state.store(wanted, std::memory_order_release);
}

Pager* attach() {
  const std::lock_guard lock(g_attach_mutex);
  if (Pager* pager = g_pager.load(std::memory_order_acquire)) return pager;
  if (state() != State::paging) return nullptr;  // another thread tried and fell back
  const auto facts = ask_device();
  if (!facts) return nullptr;
  auto made = Pager::attach(*facts, settings());
  if (!made) {
    format_log(LogLevel::warn, "start", "the pager could not start ({})", error_name(made.error()));
    fall_back("everything passes through to the driver");
    return nullptr;
  }
  Pager* pager = made->release();
  g_pager.store(pager, std::memory_order_release);
  return pager;
}

// After the job's own exit handlers; the driver may be gone already, so nothing here calls it.
__attribute__((destructor)) void at_exit() noexcept {
  const State last = state();
  if (last == State::dormant || settings().disable || getpid() != g_process) return;
  try {
    const std::string policy(settings().effective_policy());
    write_statistics(expand(settings().stats), policy.c_str(), state_name(last));
  } catch (...) {
    TENSORPAGER_LOG(warn, "stats", "no memory: the counters could not be written");
  }
}

}  // namespace

State state() noexcept {
  return g_state.load(std::memory_order_acquire);
}

bool active() noexcept {
  return g_state.load(std::memory_order_relaxed) >= State::observing;
}

const char* state_name(State state) noexcept {
  switch (state) {
    case State::dormant:
      return "dormant";
    case State::pass_through:
      return "pass-through";
    case State::observing:
      return "observing";
    case State::paging:
      return "paging";
  }
  return "?";
}

void fall_back(const char* why) noexcept {
  g_state.store(State::pass_through, std::memory_order_release);
  if (why != nullptr) TENSORPAGER_LOG(warn, "state", "{}", why);
}

const Settings& settings() noexcept {
  return stored_settings();
}

PassThrough& passed_through() noexcept {
  static PassThrough& instance = *new PassThrough;
  return instance;
}

Pager* pager() noexcept {
  if (g_state.load(std::memory_order_relaxed) != State::paging) return nullptr;
  if (Pager* pager = g_pager.load(std::memory_order_acquire)) return pager;
  try {
    return attach();
  } catch (...) {
    fall_back("no memory for the pager: everything passes through to the driver");
    return nullptr;
  }
}

const DeviceFacts* observed_device() noexcept {
  if (const DeviceFacts* known = g_observed.load(std::memory_order_acquire)) return known;
  try {
    const auto facts = ask_device();
    if (!facts) return nullptr;
    auto* fresh = new DeviceFacts(*facts);
    const DeviceFacts* expected = nullptr;
    if (g_observed.compare_exchange_strong(expected, fresh)) {
      statistics().set_fixed_cost(fresh->used + settings().driver_reserve);
      statistics().granularity.set(fresh->granularity);
      return fresh;
    }
    delete fresh;
    return expected;
  } catch (...) {
    return nullptr;
  }
}

const DeviceFacts* known_device() noexcept {
  if (const Pager* pager = g_pager.load(std::memory_order_acquire)) return &pager->facts();
  return g_observed.load(std::memory_order_acquire);
}

// The records stay: other threads may be about to find out that their context is gone.
void forget_device() noexcept {
  g_observed.store(nullptr, std::memory_order_release);
  if (Pager* pager = g_pager.exchange(nullptr, std::memory_order_acq_rel)) pager->give_up_device();
}

void on_driver_open(DriverLookup find) noexcept {
  try {
    start(find);
  } catch (...) {
    fall_back("no memory at the start: everything passes through to the driver");
  }
}

}  // namespace tensorpager
