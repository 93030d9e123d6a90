#pragma once

// The UCI digits, 8x8 pixels of 0..16, scaled to 32x32 floats in about [-1, 1].

#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/random.h"

inline constexpr int kSide = 32;
inline constexpr int kPixels = kSide * kSide;
inline constexpr int kClasses = 10;
inline constexpr int kTrainImages = 1437;
inline constexpr int kTestImages = 360;
inline constexpr int kRawSide = 8;
inline constexpr float kBackground = -1.0f;

struct Dataset {
  std::vector<float> images;  ///< kPixels each
  std::vector<int> labels;

  int size() const { return static_cast<int>(labels.size()); }
};

[[noreturn]] inline void data_error(const std::string& path, const char* what, int row) {
  std::fprintf(stderr, "digits_cnn: %s: %s (row %d). Name the file with --data FILE.\n", path.c_str(), what, row);
  std::exit(1);
}

/// Bilinear, with the pixels' centres as the grid and the border repeated.
inline void append_scaled(std::vector<float>& images, const int (&raw)[kRawSide * kRawSide]) {
  const auto source = [](int i) {
    const float at = (static_cast<float>(i) + 0.5f) * kRawSide / kSide - 0.5f;
    return at < 0.0f ? 0.0f : (at > kRawSide - 1.0f ? kRawSide - 1.0f : at);
  };
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const float fy = source(y), fx = source(x);
      const int y0 = static_cast<int>(fy), x0 = static_cast<int>(fx);
      const int y1 = y0 + 1 < kRawSide ? y0 + 1 : y0, x1 = x0 + 1 < kRawSide ? x0 + 1 : x0;
      const float wy = fy - static_cast<float>(y0), wx = fx - static_cast<float>(x0);
      const auto at = [&raw](int row, int column) { return static_cast<float>(raw[row * kRawSide + column]); };
      const float top = at(y0, x0) * (1.0f - wx) + at(y0, x1) * wx;
      const float bottom = at(y1, x0) * (1.0f - wx) + at(y1, x1) * wx;
      images.push_back((top * (1.0f - wy) + bottom * wy) * 0.125f + kBackground);
    }
  }
}

/// One row: 64 pixels, then the label.
inline bool parse_row(char* line, int (&pixels)[kRawSide * kRawSide], int& label) {
  char* at = line;
  for (int i = 0; i <= kRawSide * kRawSide; ++i) {
    char* end = nullptr;
    const long value = std::strtol(at, &end, 10);
    const bool last = i == kRawSide * kRawSide;
    if (end == at || value < 0 || value > (last ? kClasses - 1 : 16)) return false;
    if (!last && *end != ',') return false;
    (last ? label : pixels[i]) = static_cast<int>(value);
    at = end + 1;
  }
  return true;
}

/// {train, test}. Ends the program when the file is not what it should be.
inline std::pair<Dataset, Dataset> load_digits(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) data_error(path, "cannot be opened", 0);
  std::pair<Dataset, Dataset> sets;
  char line[1024];
  int row = 0;
  for (; gzgets(file, line, sizeof line) != nullptr; ++row) {
    int pixels[kRawSide * kRawSide], label = 0;
    if (!parse_row(line, pixels, label)) data_error(path, "not 64 pixels and a label", row);
    Dataset& set = row < kTrainImages ? sets.first : sets.second;
    append_scaled(set.images, pixels);
    set.labels.push_back(label);
  }
  gzclose(file);
  if (row != kTrainImages + kTestImages) data_error(path, "not 1797 rows", row);
  return sets;
}

/// The image moved by (right, down) pixels; background comes in at the border.
inline void copy_shifted(float* out, const float* image, int right, int down) {
  for (int y = 0; y < kSide; ++y) {
    for (int x = 0; x < kSide; ++x) {
      const int from_y = y - down, from_x = x - right;
      const bool inside = from_y >= 0 && from_y < kSide && from_x >= 0 && from_x < kSide;
      out[y * kSide + x] = inside ? image[from_y * kSide + from_x] : kBackground;
    }
  }
}

/// Endless shuffled epochs; the last images of an epoch that fill no batch are left out.
class BatchOrder {
 public:
  BatchOrder(int images, int batch, Random& random) : order_(images), batch_(batch), next_(images), random_(random) {
    for (int i = 0; i < images; ++i) order_[i] = i;
  }

  const int* next() {
    if (next_ + batch_ > static_cast<int>(order_.size())) shuffle();
    next_ += batch_;
    return order_.data() + next_ - batch_;
  }

 private:
  void shuffle() {
    for (std::size_t i = order_.size() - 1; i > 0; --i) std::swap(order_[i], order_[random_.below(i + 1)]);
    next_ = 0;
  }

  std::vector<int> order_;
  int batch_;
  int next_;
  Random& random_;
};
