// Trains a small convolutional network on the UCI handwritten digits, with stream-ordered allocation of every tensor.
// All sums are in a fixed order: two runs give the same bits.

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/workloads/digits_cnn/dataset.h"
#include "bench/workloads/digits_cnn/network.h"
#include "bench/workloads/digits_cnn/options.h"
#include "bench/workloads/digits_cnn/result.h"

namespace {

constexpr int kTestBatch = 120;
constexpr int kShift = 3;

/// Page-locked host memory of one batch, and its way to the device.
class BatchUpload {
 public:
  explicit BatchUpload(int capacity) {
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&images_), sizeof(float) * kPixels * capacity));
    CHECK(cudaMallocHost(reinterpret_cast<void**>(&labels_), sizeof(int) * capacity));
  }
  ~BatchUpload() {
    CHECK(cudaFreeHost(images_));
    CHECK(cudaFreeHost(labels_));
  }
  BatchUpload(const BatchUpload&) = delete;
  BatchUpload& operator=(const BatchUpload&) = delete;

  /// `shift`, when given, moves each image by up to kShift pixels. The caller synchronises with `stream` before the
  /// next one.
  void upload(const Dataset& set, const int* chosen, int count, Random* shift, Tensor& images, DeviceArray<int>& labels,
              cudaStream_t stream) {
    const auto draw = [shift] {
      return shift == nullptr ? 0 : static_cast<int>(shift->below(2 * kShift + 1)) - kShift;
    };
    for (int i = 0; i < count; ++i) {
      const float* image = set.images.data() + static_cast<std::size_t>(chosen[i]) * kPixels;
      const int right = draw(), down = draw();
      copy_shifted(images_ + i * kPixels, image, right, down);
      labels_[i] = set.labels[chosen[i]];
    }
    images = Tensor(static_cast<std::size_t>(count) * kPixels, stream);
    labels = DeviceArray<int>(count, stream);
    CHECK(cudaMemcpyAsync(images.data(), images_, images.bytes(), cudaMemcpyHostToDevice, stream));
    CHECK(cudaMemcpyAsync(labels.data(), labels_, labels.bytes(), cudaMemcpyHostToDevice, stream));
  }

 private:
  float* images_ = nullptr;
  int* labels_ = nullptr;
};

/// On the host, after all that `stream` was given.
std::vector<float> fetch(const Tensor& tensor, cudaStream_t stream) {
  std::vector<float> values(tensor.size());
  CHECK(cudaMemcpyAsync(values.data(), tensor.data(), tensor.bytes(), cudaMemcpyDeviceToHost, stream));
  CHECK(cudaStreamSynchronize(stream));
  return values;
}

float sum(const std::vector<float>& values) {
  float total = 0.0f;
  for (float value : values) total += value;
  return total;
}

/// Weights and running statistics.
std::uint64_t checksum_weights(Network& network, cudaStream_t stream) {
  Checksum checksum;
  const auto add = [&](const Tensor& tensor) {
    const std::vector<float> values = fetch(tensor, stream);
    checksum.add(values.data(), values.size());
  };
  for (Parameter* parameter : network.parameters()) add(parameter->value);
  for (const Tensor* statistic : network.statistics()) add(*statistic);
  return checksum.value();
}

class Trainer {
 public:
  Trainer(const Options& options, const Dataset& train, Lanes& lanes)
      : options_(options),
        train_(train),
        lanes_(lanes),
        random_(static_cast<std::uint64_t>(options.seed)),
        network_(random_, lanes),
        order_(train.size(), static_cast<int>(options.batch), random_),
        upload_(std::max(static_cast<int>(options.batch), kTestBatch)) {}

  void run(Result& result) {
    for (long step = 1; step <= options_.steps; ++step) {
      take_step(result);
      if (!options_.quiet) {
        std::printf("step %3ld  loss %.9g  %.3f ms\n", step, result.losses.back(), result.milliseconds.back());
        std::fflush(stdout);
      }
      if (options_.checksum_every > 0 && step % options_.checksum_every == 0) {
        result.checkpoints.emplace_back(step, checksum_weights(network_, lanes_.main()));
      }
    }
    result.weights_checksum = checksum_weights(network_, lanes_.main());
  }

  double accuracy(const Dataset& test) {
    float correct = 0.0f;
    std::vector<int> chosen(kTestBatch);
    for (int first = 0; first < test.size(); first += kTestBatch) {
      const int count = std::min(kTestBatch, test.size() - first);
      for (int i = 0; i < count; ++i) chosen[i] = first + i;
      Tensor images;
      DeviceArray<int> labels;
      upload_.upload(test, chosen.data(), count, nullptr, images, labels, lanes_.main());
      Tensor hits = network_.classify(std::move(images), labels.data(), count);
      correct += sum(fetch(hits, lanes_.main()));
    }
    return static_cast<double>(correct) / test.size();
  }

 private:
  void take_step(Result& result) {
    const int count = static_cast<int>(options_.batch);
    const cudaStream_t stream = lanes_.main();
    start_.record(stream);
    Tensor images;
    DeviceArray<int> labels;
    upload_.upload(train_, order_.next(), count, &random_, images, labels, stream);
    Tensor losses = network_.train(std::move(images), labels.data(), count);
    optimizer_.step(network_.parameters(), stream);
    stop_.record(stream);
    result.losses.push_back(sum(fetch(losses, stream)));
    float milliseconds = 0.0f;
    CHECK(cudaEventElapsedTime(&milliseconds, start_.get(), stop_.get()));
    result.milliseconds.push_back(milliseconds);
  }

  const Options& options_;
  const Dataset& train_;
  Lanes& lanes_;
  Random random_;
  Network network_;
  BatchOrder order_;
  BatchUpload upload_;
  Sgd optimizer_;
  Event start_;
  Event stop_;
};

/// Freed memory stays with the process between the steps.
void keep_freed_memory() {
  int device = 0;
  CHECK(cudaGetDevice(&device));
  cudaMemPool_t pool = nullptr;
  CHECK(cudaDeviceGetDefaultMemPool(&pool, device));
  std::uint64_t threshold = UINT64_MAX;
  CHECK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &threshold));
}

std::string beside_program(const char* file) {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).replace_filename(file).string();
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse_options(argc, argv, beside_program("digits.csv.gz"));
  const auto [train, test] = load_digits(options.data);
  keep_freed_memory();
  Result result;
  {
    Lanes lanes(options.streams);
    Trainer trainer(options, train, lanes);
    trainer.run(result);
    result.test_accuracy = trainer.accuracy(test);
    CHECK(cudaDeviceSynchronize());
  }
  print_summary(result);
  if (!options.json.empty()) write_json(options, result);
  return 0;
}
