#pragma once

// What a run prints and writes. Losses are written with nine digits, so that equal text means equal bits.

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/options.h"

/// FNV-1a, 64 bit.
class Checksum {
 public:
  void add(const float* values, std::size_t count) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(values);
    for (std::size_t i = 0; i < count * sizeof(float); ++i) hash_ = (hash_ ^ bytes[i]) * 0x100000001b3u;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

struct Result {
  std::vector<float> losses;
  std::vector<float> milliseconds;                          ///< device time of each step
  std::vector<std::pair<long, std::uint64_t>> checkpoints;  ///< {step, checksum of the weights}
  std::uint64_t weights_checksum = 0;
  double test_accuracy = 0;

  std::uint64_t losses_checksum() const {
    Checksum sum;
    sum.add(losses.data(), losses.size());
    return sum.value();
  }
};

inline void print_summary(const Result& result) {
  std::printf("test accuracy %.4f\n", result.test_accuracy);
  std::printf("checksum of losses %016" PRIx64 "\n", result.losses_checksum());
  std::printf("checksum of weights %016" PRIx64 "\n", result.weights_checksum);
}

inline void write_floats(FILE* out, const char* name, const std::vector<float>& values) {
  std::fprintf(out, "  \"%s\": [", name);
  for (std::size_t i = 0; i < values.size(); ++i) std::fprintf(out, "%s%.9g", i == 0 ? "" : ", ", values[i]);
  std::fprintf(out, "],\n");
}

inline void write_json(const Options& options, const Result& result) {
  FILE* out = std::fopen(options.json.c_str(), "w");
  if (out == nullptr) {
    std::fprintf(stderr, "digits_cnn: cannot write %s\n", options.json.c_str());
    std::exit(1);
  }
  std::fprintf(out, "{\n  \"steps\": %ld,\n  \"batch\": %ld,\n  \"streams\": %ld,\n  \"seed\": %ld,\n", options.steps,
               options.batch, options.streams, options.seed);
  write_floats(out, "losses", result.losses);
  write_floats(out, "step_ms", result.milliseconds);
  std::fprintf(out, "  \"weights_checksum_at\": {");
  for (std::size_t i = 0; i < result.checkpoints.size(); ++i) {
    std::fprintf(out, "%s\"%ld\": \"%016" PRIx64 "\"", i == 0 ? "" : ", ", result.checkpoints[i].first,
                 result.checkpoints[i].second);
  }
  std::fprintf(out, "},\n  \"test_accuracy\": %.6f,\n", result.test_accuracy);
  std::fprintf(out, "  \"losses_checksum\": \"%016" PRIx64 "\",\n", result.losses_checksum());
  std::fprintf(out, "  \"weights_checksum\": \"%016" PRIx64 "\"\n}\n", result.weights_checksum);
  std::fclose(out);
}
