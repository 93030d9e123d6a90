#pragma once

#include <cstdint>

/// SplitMix64 (Steele, Lea, Flood 2014): the same numbers on every machine, unlike the standard distributions.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  /// In [0, bound).
  std::uint32_t below(std::uint32_t bound) { return static_cast<std::uint32_t>((next() >> 32) * bound >> 32); }
  /// In [-limit, limit).
  float symmetric(float limit) { return (static_cast<float>(next() >> 40) * 0x1p-23f - 1.0f) * limit; }

 private:
  std::uint64_t state_;
};
