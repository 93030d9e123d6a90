// Prints how fast the executor runs kernels on this host, one worker and two. Not a test: rates depend on what else
// runs.

#include <fmt/core.h>

#include <time.h>

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

class Rates {
 public:
  explicit Rates(unsigned workers)
      : workers_(workers), runner_(read_test_file("training_kernels.ptx"), test_options(workers)) {}

  void run() {
    elementwise("saxpy", 1.5f);
    elementwise("gelu");
    softmax();
    batch_norm();
    matrix_product();
    convolution();
    register_tiled();
  }

 private:
  /// Of one worker the processor time: other jobs may run beside it.
  double seconds() const {
    timespec now = {};
    clock_gettime(workers_ == 1 ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
  }

  std::uint64_t floats(std::size_t count) { return runner_.upload(std::vector<float>(count, 0.5f)); }

  template <class... Arguments>
  void measure(const std::string& name, double amount, const char* unit, const LaunchShape& shape,
               const Arguments&... arguments) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double begin = seconds();
      runner_.launch(name, shape, arguments...);
      best = std::min(best, seconds() - begin);
    }
    fmt::print("{:24} {} worker(s) {:10.2f} {}\n", name, workers_, amount / best, unit);
  }

  template <class... Scalars>
  void elementwise(const std::string& name, Scalars... scalars) {
    constexpr int kCount = 1 << 20;
    measure(name, kCount / 1e6, "Melem/s", shape(kCount / 256, 256), kCount, scalars..., floats(kCount),
            floats(kCount));
  }

  void softmax() {
    measure("softmax", 256 * 4096 / 1e6, "Melem/s", shape(256, 256), floats(256 * 4096), floats(256 * 4096), 4096);
  }

  void batch_norm() {
    measure("batch_norm_statistics", 64 * 16 * 1024 / 1e6, "Melem/s", shape(16, 256, 2048), floats(64 * 16 * 1024),
            floats(16), floats(16), 64, 16, 1024);
  }

  void matrix_product() {
    measure("sgemm_tiled", 2.0 * 256 * 256 * 256 / 1e9, "GFLOP/s", LaunchShape{{16, 16, 1}, {16, 16, 1}, 0},
            floats(65536), floats(65536), floats(65536), 256, 256, 256);
  }

  void convolution() {
    measure("conv3x3", 2.0 * 16 * 8 * 1024 * 8 * 9 / 1e9, "GFLOP/s", LaunchShape{{32, 16, 1}, {256, 1, 1}, 0},
            floats(16 * 8 * 1024), floats(8 * 8 * 9), floats(8), floats(16 * 8 * 1024), 8, 32, 32, 8);
  }

  void register_tiled() {
    measure("conv3x3_register_tiled", 2.0 * 32 * 1024 * 8 * 9 * 8 / 1e9, "GFLOP/s",
            LaunchShape{{4, 32, 1}, {256, 1, 1}, 0}, floats(32 * 8 * 34 * 34), floats(8 * 8 * 9), floats(32 * 8 * 1024),
            8, 32, 32);
  }

  unsigned workers_;
  KernelRunner runner_;
};

}  // namespace
}  // namespace simgpu::ptx

int main() {
  simgpu::ptx::Rates(1).run();
  simgpu::ptx::Rates(2).run();
}
