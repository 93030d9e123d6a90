// Kernels as nvcc compiles them, against the same computation in double.

#include <cmath>
#include <numeric>
#include <random>

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

std::vector<float> random_values(std::size_t count, float low, float high, unsigned seed = 1) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> values(low, high);
  std::vector<float> result(count);
  for (float& value : result) value = values(generator);
  return result;
}

// Whether nvcc was told to use fast mathematics: the suite runs on both.
class TrainingKernels : public testing::TestWithParam<const char*> {
 protected:
  TrainingKernels() : runner(read_test_file(GetParam())) {}
  bool fast() const { return std::string_view(GetParam()).find("fast") != std::string_view::npos; }
  template <class T>
  std::span<T> view(std::uint64_t address, std::size_t count) {
    return WindowMemory::view<T>(address, count);
  }
  std::uint64_t zeros(std::size_t bytes) { return runner.memory.allocate(bytes, 256); }

  KernelRunner runner;
};

TEST_P(TrainingKernels, Saxpy) {
  const auto x = random_values(1000, -2, 2);
  const auto y = random_values(1000, -2, 2, 2);
  const auto dx = runner.upload(x);
  const auto dy = runner.upload(y);
  const auto cost = runner.launch("saxpy", shape(8, 128), 1000, 1.5f, dx, dy);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(view<float>(dy, 1000)[i], std::fma(x[i], 1.5f, y[i])) << i;
  // 1000 of 1024 threads load twice and store once.
  EXPECT_EQ(cost.bytes, 12000U);
  EXPECT_GT(cost.work, 10240U);
  EXPECT_LT(cost.work, 30720U);
}

TEST_P(TrainingKernels, Gelu) {
  const auto x = random_values(4096, -6, 6);
  const auto dx = runner.upload(x);
  const auto dy = zeros(4096 * sizeof(float));
  runner.launch("gelu", shape(32, 128), 4096, dx, dy);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double v = x[i];
    ASSERT_NEAR(view<float>(dy, 4096)[i], 0.5 * v * (1 + std::tanh(0.7978845608 * (v + 0.044715 * v * v * v))),
                fast() ? 1e-3 : 2e-6)
        << v;
  }
}

TEST_P(TrainingKernels, UnaryFunctions) {
  constexpr int kCount = 2000;
  const auto x = random_values(kCount, 0.01f, 12);
  const auto dx = runner.upload(x);
  const auto dy = zeros(11 * kCount * sizeof(float));
  runner.launch("unary_functions", shape(16, 128), kCount, dx, dy);
  const auto y = view<float>(dy, 11 * kCount);
  double (*const functions[])(double) = {
      [](double v) { return std::exp(v); },      [](double v) { return std::log(v); },
      [](double v) { return std::sqrt(v); },     [](double v) { return std::pow(v, 1.7); },
      [](double v) { return 1 / std::sqrt(v); }, [](double v) { return std::sin(v); },
      [](double v) { return std::cos(v); },      [](double v) { return 1 / v; },
      [](double v) { return std::exp(v); },      [](double v) { return std::log(v); },
      [](double v) { return std::erf(v); }};
  for (std::size_t f = 0; f < std::size(functions); ++f)
    for (std::size_t i = 0; i < kCount; ++i) {
      const double expected = functions[f](x[i]);
      ASSERT_NEAR(y[f * kCount + i], expected, 3e-6 * std::max(1.0, std::abs(expected)))
          << "function " << f << " of " << x[i];
    }
}

TEST_P(TrainingKernels, SoftmaxWithShuffles) {
  constexpr int kRows = 5;
  constexpr int kColumns = 300;
  const auto x = random_values(kRows * kColumns, -8, 8);
  const auto dx = runner.upload(x);
  const auto dy = zeros(x.size() * sizeof(float));
  runner.launch("softmax", shape(kRows, 128), dx, dy, kColumns);
  for (int row = 0; row < kRows; ++row) {
    double sum = 0;
    for (int c = 0; c < kColumns; ++c) sum += std::exp(double{x[static_cast<std::size_t>(row * kColumns + c)]});
    for (int c = 0; c < kColumns; ++c) {
      const auto i = static_cast<std::size_t>(row * kColumns + c);
      ASSERT_NEAR(view<float>(dy, x.size())[i], std::exp(double{x[i]}) / sum, 1e-6);
    }
  }
}

TEST_P(TrainingKernels, BatchNormReduction) {
  constexpr int kImages = 4;
  constexpr int kChannels = 3;
  constexpr int kArea = 49;
  const auto x = random_values(kImages * kChannels * kArea, -1, 3);
  const auto dx = runner.upload(x);
  const auto mean = zeros(64);
  const auto inverse = zeros(64);
  runner.launch("batch_norm_statistics", shape(kChannels, 64, 2 * 64 * sizeof(float)), dx, mean, inverse, kImages,
                kChannels, kArea);
  for (std::size_t channel = 0; channel < kChannels; ++channel) {
    double sum = 0;
    double square = 0;
    for (std::size_t i = 0; i < kImages * kArea; ++i) {
      const double v = x[(i / kArea * kChannels + channel) * kArea + i % kArea];
      sum += v;
      square += v * v;
    }
    const double m = sum / (kImages * kArea);
    EXPECT_NEAR(view<float>(mean, kChannels)[channel], m, 1e-6);
    EXPECT_NEAR(view<float>(inverse, kChannels)[channel], 1 / std::sqrt(square / (kImages * kArea) - m * m + 1e-5),
                1e-6);
  }
}

TEST_P(TrainingKernels, TiledMatrixProduct) {
  constexpr int kM = 37;
  constexpr int kN = 45;
  constexpr int kK = 50;
  const auto a = random_values(kM * kK, -1, 1);
  const auto b = random_values(kK * kN, -1, 1, 2);
  const auto da = runner.upload(a);
  const auto db = runner.upload(b);
  const auto dc = zeros(kM * kN * sizeof(float));
  runner.launch("sgemm_tiled", LaunchShape{{3, 3, 1}, {16, 16, 1}, 0}, da, db, dc, kM, kN, kK);
  for (std::size_t i = 0; i < kM; ++i)
    for (std::size_t j = 0; j < kN; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < kK; ++k) sum += double{a[i * kK + k]} * b[k * kN + j];
      ASSERT_NEAR(view<float>(dc, kM * kN)[i * kN + j], sum, 1e-5);
    }
}

TEST_P(TrainingKernels, Convolution) {
  constexpr int kChannels = 3;
  constexpr int kSide = 9;
  constexpr int kOutputs = 4;
  constexpr int kArea = kSide * kSide;
  const auto x = random_values(2 * kChannels * kArea, -1, 1);
  const auto w = random_values(kOutputs * kChannels * 9, -1, 1, 2);
  const auto bias = random_values(kOutputs, -1, 1, 3);
  const auto dx = runner.upload(x);
  const auto dw = runner.upload(w);
  const auto db = runner.upload(bias);
  const auto dy = zeros(2 * kOutputs * kArea * sizeof(float));
  runner.launch("conv3x3", LaunchShape{{6, 2, 1}, {64, 1, 1}, 0}, dx, dw, db, dy, kChannels, kSide, kSide, kOutputs);
  const auto at = [](auto& values, int i) { return double{values[static_cast<std::size_t>(i)]}; };
  for (int image = 0; image < 2; ++image)
    for (int o = 0; o < kOutputs; ++o)
      for (int p = 0; p < kArea; ++p) {
        double sum = at(bias, o);
        for (int t = 0; t < kChannels * 9; ++t) {
          const int h = p / kSide + t % 9 / 3 - 1;
          const int v = p % kSide + t % 3 - 1;
          if (h < 0 || h >= kSide || v < 0 || v >= kSide) continue;
          sum += at(x, (image * kChannels + t / 9) * kArea + h * kSide + v) * at(w, o * kChannels * 9 + t);
        }
        ASSERT_NEAR(view<float>(dy, 2 * kOutputs * kArea)[static_cast<std::size_t>((image * kOutputs + o) * kArea + p)],
                    sum, 1e-5);
      }
}

TEST_P(TrainingKernels, HistogramWithSharedAtomics) {
  std::mt19937 generator(7);
  std::vector<unsigned char> x(10000);
  for (auto& value : x) value = static_cast<unsigned char>(generator() % 200);
  std::vector<unsigned> expected(256);
  for (const auto value : x) ++expected[value];
  const auto dx = runner.upload(x);
  const auto bins = zeros(256 * sizeof(unsigned));
  runner.launch("histogram", shape(6, 96), dx, bins, 10000);
  for (std::size_t i = 0; i < 256; ++i) ASSERT_EQ(view<unsigned>(bins, 256)[i], expected[i]) << i;
}

TEST_P(TrainingKernels, CrossEntropy) {
  constexpr int kRows = 33;
  constexpr int kClasses = 10;
  const auto x = random_values(kRows * kClasses, -5, 5);
  std::vector<int> labels(kRows);
  for (int i = 0; i < kRows; ++i) labels[static_cast<std::size_t>(i)] = i * 7 % kClasses;
  const auto dx = runner.upload(x);
  const auto dl = runner.upload(labels);
  const auto loss = zeros(kRows * sizeof(float));
  const auto gradient = zeros(x.size() * sizeof(float));
  runner.launch("cross_entropy", shape(2, 32), dx, dl, loss, gradient, kRows, kClasses);
  for (std::size_t row = 0; row < kRows; ++row) {
    double sum = 0;
    for (std::size_t c = 0; c < kClasses; ++c) sum += std::exp(double{x[row * kClasses + c]});
    const auto label = static_cast<std::size_t>(labels[row]);
    EXPECT_NEAR(view<float>(loss, kRows)[row], std::log(sum) - x[row * kClasses + label], 3e-6);
    for (std::size_t c = 0; c < kClasses; ++c)
      EXPECT_NEAR(view<float>(gradient, x.size())[row * kClasses + c],
                  (std::exp(double{x[row * kClasses + c]}) / sum - (c == label ? 1 : 0)) / kRows, 1e-7);
  }
}

TEST_P(TrainingKernels, VectorsAndBytes) {
  const auto x = random_values(400, -1, 1);
  const auto dx = runner.upload(x);
  const auto dy = zeros(200 * sizeof(float));
  const auto choice = zeros(100);
  runner.launch("max_pool", shape(1, 128), dx, dy, choice, 100);
  for (std::size_t i = 0; i < 100; ++i) {
    ASSERT_EQ(view<float>(dy, 200)[2 * i], std::max(x[4 * i], x[4 * i + 1]));
    ASSERT_EQ(view<float>(dy, 200)[2 * i + 1], std::max(x[4 * i + 2], x[4 * i + 3]));
    ASSERT_EQ(view<unsigned char>(choice, 100)[i], (x[4 * i + 1] > x[4 * i]) | (x[4 * i + 3] > x[4 * i + 2]) << 1);
  }
}

INSTANTIATE_TEST_SUITE_P(Nvcc, TrainingKernels, testing::Values("training_kernels.ptx", "training_kernels_fast.ptx"),
                         [](const auto& built) { return std::string(built.index == 0 ? "precise" : "fast"); });

}  // namespace
}  // namespace simgpu::ptx
