#pragma once

#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/map_layer.h"

/// x + pointwise(depthwise(x)).
class ResidualBlock {
 public:
  ResidualBlock(Random& random, cudaStream_t stream)
      : depthwise_(Filter::kDepthwise3x3, random, stream), pointwise_(Filter::kPointwise, random, stream) {}

  std::vector<MapLayer*> layers() { return {&depthwise_, &pointwise_}; }

  Tensor forward(Tensor x, int images, bool training, cudaStream_t stream) {
    Tensor branch =
        pointwise_.forward(depthwise_.forward(std::move(x), images, training, stream), images, training, stream);
    Tensor y = sum(depthwise_.input(), branch, images, stream);
    branch.free(stream);
    if (!training) {
      depthwise_.forget_input(stream);
      pointwise_.forget_input(stream);
    }
    return y;
  }

  Tensor backward(const Tensor& dy, int images, Lanes& lanes) {
    Tensor dmiddle = pointwise_.backward(dy, images, lanes);
    Tensor dbranch = depthwise_.backward(dmiddle, images, lanes);
    dmiddle.free(lanes.main());
    Tensor dx = sum(dy, dbranch, images, lanes.main());
    dbranch.free(lanes.main());
    return dx;
  }

 private:
  static Tensor sum(const Tensor& a, const Tensor& b, int images, cudaStream_t stream) {
    Tensor total(a.size(), stream);
    add<<<images * kChannels, kMapThreads, 0, stream>>>(as_quads(a), as_quads(b), as_quads(total));
    CHECK_LAUNCH();
    return total;
  }

  MapLayer depthwise_;
  MapLayer pointwise_;
};
