#pragma once

// Ten convolutions on maps of 32x32 with 8 channels, and the head. With a batch of 64 a map tensor has 2 MiB, and 30 of
// them live from the forward to the backward pass: 60 MiB.

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/workloads/digits_cnn/head.h"
#include "bench/workloads/digits_cnn/residual_block.h"

class Network {
 public:
  Network(Random& random, Lanes& lanes)
      : lanes_(lanes),
        stem_(Filter::kStem3x3, random, lanes.main()),
        last_(Filter::kFull3x3, random, lanes.main()),
        head_(random, lanes.main()) {
    for (int i = 0; i < kBlocks; ++i) blocks_.emplace_back(random, lanes.main());
  }

  std::vector<MapLayer*> layers() {
    std::vector<MapLayer*> all{&stem_};
    for (ResidualBlock& block : blocks_) append(all, block.layers());
    all.push_back(&last_);
    return all;
  }
  std::vector<Parameter*> parameters() {
    std::vector<Parameter*> all;
    for (MapLayer* layer : layers()) append(all, layer->parameters());
    append(all, head_.parameters());
    return all;
  }
  /// The running statistics of all norms.
  std::vector<const Tensor*> statistics() {
    std::vector<const Tensor*> all;
    for (MapLayer* layer : layers()) all.push_back(&layer->running());
    all.push_back(&head_.running());
    return all;
  }

  /// Forward and backward; the loss of each image, divided by the batch. All gradients are there for what `main` gets
  /// next.
  Tensor train(Tensor images, const int* labels, int count) {
    Tensor logits = forward(std::move(images), count, true);
    Tensor losses(count, lanes_.main());
    Tensor dlogits(logits.size(), lanes_.main());
    softmax_cross_entropy<<<loss_blocks(count), kLossThreads, 0, lanes_.main()>>>(logits.data(), labels, losses.data(),
                                                                                  dlogits.data(), count);
    CHECK_LAUNCH();
    logits.free(lanes_.main());
    Tensor gradient = head_.backward(std::move(dlogits), count, lanes_.main());
    backward(last_, gradient, count);
    for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) backward(*block, gradient, count);
    backward(stem_, gradient, count);
    lanes_.main_after_side();
    return losses;
  }

  /// 1 for each image that is classified right.
  Tensor classify(Tensor images, const int* labels, int count) {
    Tensor logits = forward(std::move(images), count, false);
    head_.forget(lanes_.main());
    Tensor hits(count, lanes_.main());
    mark_correct<<<loss_blocks(count), kLossThreads, 0, lanes_.main()>>>(logits.data(), labels, hits.data(), count);
    CHECK_LAUNCH();
    logits.free(lanes_.main());
    return hits;
  }

 private:
  static constexpr int kBlocks = 4;
  static constexpr int kLossThreads = 32;

  static int loss_blocks(int count) { return (count + kLossThreads - 1) / kLossThreads; }

  template <typename T>
  static void append(std::vector<T>& all, const std::vector<T>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  Tensor forward(Tensor images, int count, bool training) {
    const cudaStream_t stream = lanes_.main();
    Tensor maps = stem_.forward(std::move(images), count, training, stream);
    if (!training) stem_.forget_input(stream);
    for (ResidualBlock& block : blocks_) maps = block.forward(std::move(maps), count, training, stream);
    maps = last_.forward(std::move(maps), count, training, stream);
    if (!training) last_.forget_input(stream);
    return head_.forward(std::move(maps), count, training, stream);
  }

  /// From the gradient of the part's output to that of its input.
  template <typename Part>
  void backward(Part& part, Tensor& gradient, int count) {
    Tensor input_gradient = part.backward(gradient, count, lanes_);
    gradient.free(lanes_.main());
    gradient = std::move(input_gradient);
  }

  Lanes& lanes_;
  MapLayer stem_;
  std::vector<ResidualBlock> blocks_;
  MapLayer last_;
  Head head_;
};
