#include "tests/simgpu/ptx/fault_trap.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

namespace simgpu::ptx {
namespace {

struct Frame {
  sigjmp_buf jump;
  CaughtFault fault;
};

// Read in the handler on any thread of the program: a lazily allocated one would call malloc there.
[[gnu::tls_model("initial-exec")]] thread_local Frame* volatile active_frame = nullptr;

// Its address marks the signals of our timers.
char timer_mark;

constexpr int kSignals[] = {SIGSEGV, SIGBUS};
struct sigaction previous_actions[NSIG];

[[noreturn]] void leave(LaunchFault::Kind kind, std::uint64_t host_address) {
  Frame* const frame = active_frame;
  active_frame = nullptr;
  frame->fault = {kind, host_address};
  siglongjmp(frame->jump, 1);
}

void chain(int signal_number, siginfo_t* info, void* context) {
  const struct sigaction& previous = previous_actions[signal_number];
  if ((previous.sa_flags & SA_SIGINFO) != 0) return previous.sa_sigaction(signal_number, info, context);
  if (previous.sa_handler != SIG_DFL && previous.sa_handler != SIG_IGN) return previous.sa_handler(signal_number);
  // The access is repeated on return and ends the process; a signal that was sent must be sent again.
  signal(signal_number, SIG_DFL);
  if (info->si_code <= 0) raise(signal_number);
}

void on_signal(int signal_number, siginfo_t* info, void* context) {
  const bool from_timer = info->si_code == SI_TIMER && info->si_value.sival_ptr == &timer_mark;
  if (active_frame != nullptr) {
    if (from_timer) leave(LaunchFault::Kind::timeout, 0);
    if (info->si_code > 0) leave(LaunchFault::Kind::illegal_address, reinterpret_cast<std::uint64_t>(info->si_addr));
  }
  // A timer that ran out while its launch ended.
  if (from_timer) return;
  chain(signal_number, info, context);
}

/// Programs may put in handlers of their own at any time; ours must be the one in place while a kernel runs.
void install_handlers() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  for (const int signal_number : kSignals) {
    struct sigaction current = {};
    sigaction(signal_number, nullptr, &current);
    if ((current.sa_flags & SA_SIGINFO) != 0 && current.sa_sigaction == on_signal) continue;
    previous_actions[signal_number] = current;
    struct sigaction ours = {};
    ours.sa_sigaction = on_signal;
    // Not deferred: the handler is left by a jump that restores no mask.
    ours.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigaction(signal_number, &ours, nullptr);
  }
}

/// A fault that is blocked kills the process.
void unblock_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal_number : kSignals) sigaddset(&set, signal_number);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

class ThreadTimer {
 public:
  ThreadTimer() = default;
  ThreadTimer(const ThreadTimer&) = delete;
  ThreadTimer& operator=(const ThreadTimer&) = delete;
  ~ThreadTimer() {
    if (created_) timer_delete(timer_);
  }

  void set(std::chrono::milliseconds limit) {
    // A child process has none of its parent's timers.
    if (!created_ || !arm(limit)) create(limit);
  }

 private:
  bool arm(std::chrono::milliseconds limit) {
    itimerspec spec = {};
    spec.it_value.tv_sec = limit.count() / 1000;
    spec.it_value.tv_nsec = limit.count() % 1000 * 1000000;
    return timer_settime(timer_, 0, &spec, nullptr) == 0;
  }

  void create(std::chrono::milliseconds limit) {
    sigevent event = {};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = SIGSEGV;
    event.sigev_value.sival_ptr = &timer_mark;
    event.sigev_notify_thread_id = static_cast<pid_t>(syscall(SYS_gettid));
    created_ = timer_create(CLOCK_MONOTONIC, &event, &timer_) == 0;
    if (created_) arm(limit);
  }

  timer_t timer_ = {};
  bool created_ = false;
};

thread_local ThreadTimer thread_timer;

}  // namespace

std::optional<CaughtFault> guard(void (*code)(void*), void* argument, std::chrono::milliseconds limit) {
  install_handlers();
  unblock_signals();
  Frame frame;
  thread_timer.set(limit);
  if (sigsetjmp(frame.jump, 0) != 0) {
    thread_timer.set(std::chrono::milliseconds(0));
    return frame.fault;
  }
  active_frame = &frame;
  code(argument);
  active_frame = nullptr;
  thread_timer.set(std::chrono::milliseconds(0));
  return std::nullopt;
}

void raise_fault(LaunchFault::Kind kind) {
  if (active_frame == nullptr) std::abort();
  leave(kind, 0);
}

}  // namespace simgpu::ptx
