#pragma once

#include <string>

namespace tensorpager::cli {

/// A pipe into which the library writes a letter from each process that it is loaded into (L) and that calls the driver
/// (D). The job inherits its writing end, at a high number, and ignores it.
class HelloPipe {
 public:
  HelloPipe();
  ~HelloPipe();
  HelloPipe(const HelloPipe&) = delete;
  HelloPipe& operator=(const HelloPipe&) = delete;

  /// The value of TENSORPAGER_INTERNAL_HELLO; empty when there is no pipe.
  std::string name() const;

  struct Heard {
    bool loaded = false, driver_opened = false;
    bool certain = false;  ///< there was a pipe, and it was never full
  };
  Heard listen();

 private:
  int read_end_ = -1, write_end_ = -1;
};

}  // namespace tensorpager::cli
