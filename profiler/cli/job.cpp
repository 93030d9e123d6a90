#include "profiler/cli/job.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>

namespace tensorpager::cli {
namespace {

constexpr std::array kForwarded = {SIGTERM, SIGHUP, SIGINT, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> job{0};

void forward(int signal, siginfo_t* info, void*) {
  // The terminal sends its signals to the whole group.
  const int kept = errno;
  if (info->si_code != SI_KERNEL && job > 0) ::kill(job, signal);
  errno = kept;
}

/// Forwards signals while it lives, except those that this process was started to ignore (nohup). Until release() they
/// wait.
class SignalForwarding {
 public:
  SignalForwarding() {
    sigset_t set;
    sigemptyset(&set);
    for (int signal : kForwarded) sigaddset(&set, signal);
    ::sigprocmask(SIG_BLOCK, &set, &old_mask_);
    for (std::size_t i = 0; i < kForwarded.size(); ++i) install(kForwarded[i], old_actions_[i]);
    // Where it is ignored, the kernel keeps no exit codes.
    struct sigaction keep {};
    keep.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &keep, &old_child_action_);
  }
  ~SignalForwarding() { restore(); }
  SignalForwarding(const SignalForwarding&) = delete;
  SignalForwarding& operator=(const SignalForwarding&) = delete;

  void release() const { ::sigprocmask(SIG_SETMASK, &old_mask_, nullptr); }
  void restore_in_child() const {
    restore();
    release();
  }

 private:
  static void install(int signal, struct sigaction& old) {
    ::sigaction(signal, nullptr, &old);
    if (old.sa_handler == SIG_IGN) return;
    struct sigaction action {};
    action.sa_sigaction = forward;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    ::sigaction(signal, &action, nullptr);
  }

  void restore() const {
    for (std::size_t i = 0; i < kForwarded.size(); ++i) ::sigaction(kForwarded[i], &old_actions_[i], nullptr);
    ::sigaction(SIGCHLD, &old_child_action_, nullptr);
  }

  sigset_t old_mask_;
  struct sigaction old_child_action_;
  std::array<struct sigaction, kForwarded.size()> old_actions_;
};

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// In the child: becomes the command, or tells why not.
[[noreturn]] void become(const std::vector<char*>& command, const std::vector<char*>& environment, int report) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::execvpe(command[0], command.data(), environment.data());
  const int error = errno;
  [[maybe_unused]] const auto written = ::write(report, &error, sizeof error);
  ::_exit(error == ENOENT ? 127 : 126);
}

JobEnd wait_for(pid_t process) {
  JobEnd end{.process = process};
  int status = 0;
  while (::waitpid(process, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(status)) end.signal = WTERMSIG(status);
  end.exit_code = WIFSIGNALED(status) ? 128 + end.signal : WEXITSTATUS(status);
  return end;
}

}  // namespace

JobEnd run_job(const std::vector<std::string>& command, const std::vector<std::string>& environment) {
  const auto arguments = pointers(command), variables = pointers(environment);
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0) return {.exit_code = 126, .start_error = errno};
  const SignalForwarding forwarding;
  const pid_t process = ::fork();
  if (process == 0) {
    forwarding.restore_in_child();
    become(arguments, variables, report[1]);
  }
  const int fork_error = process < 0 ? errno : 0;
  job = process;
  forwarding.release();
  ::close(report[1]);
  JobEnd end = process < 0 ? JobEnd{.exit_code = 126, .start_error = fork_error} : wait_for(process);
  job = 0;
  if (process > 0 && ::read(report[0], &end.start_error, sizeof end.start_error) < 0) end.start_error = 0;
  ::close(report[0]);
  return end;
}

int end_like(const JobEnd& end) {
  if (end.signal == 0) return end.exit_code;
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::signal(end.signal, SIG_DFL);
  ::raise(end.signal);
  return end.exit_code;
}

}  // namespace tensorpager::cli
