#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace tensorpager::cli {

/// How a job ended: with an exit code, by a signal, or not even started (then `start_error` is an errno).
struct JobEnd {
  pid_t process = 0;
  int exit_code = 0;
  int signal = 0;
  int start_error = 0;
};

/// Starts the command in this process's group and terminal, and waits for its end. Signals sent to this process go on
/// to the job; those of the terminal reach it anyway. When this process is killed, so is the job.
JobEnd run_job(const std::vector<std::string>& command, const std::vector<std::string>& environment);

/// Ends this process as the job ended, by the same signal if need be; else returns its exit code.
int end_like(const JobEnd& end);

}  // namespace tensorpager::cli
