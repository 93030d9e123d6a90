#pragma once

// The residency contract. For each op: pin its operands, make them resident, order them on the op's stream, forward the
// call, publish its last use, unpin. Demand paging: what is missing takes the place of what was used least recently.
//
// Two threads that miss something take their turn in the order of their coming, and each claims all that it needs or
// nothing, so neither starves and no cycle of waiting forms. A wait for other ops is bounded (setting victim_wait);
// then the op is refused.

#include <boost/container/small_vector.hpp>
#include <chrono>
#include <cstddef>
#include <mutex>

#include "runtime/op.h"
#include "runtime/pager_state.h"
#include "runtime/transfers.h"

namespace tensorpager {

class ResidencyEngine {
 public:
  ResidencyEngine(PagerState& state, StreamTable& streams, const ChunkDriver& chunks, CUcontext context,
                  std::chrono::milliseconds victim_wait) noexcept
      : state_(state),
        streams_(streams),
        transfers_(state, streams, chunks),
        context_(context),
        victim_wait_(victim_wait) {}

  CUresult open() { return transfers_.open(); }

  /// Carries the op through the contract. The driver's own out-of-memory code when its operands do not fit.
  CUresult run(const Op& op, Forward forward);

  /// Gives chunks back to the driver until the budget holds `bytes` more beside them, and counts those. False: not
  /// possible; nothing is counted.
  bool admit_beside_chunks(std::size_t bytes);

 private:
  using Tensors = boost::container::small_vector<Tensor*, 16>;
  using Lock = std::unique_lock<std::mutex>;
  class Turn;

  CUresult acquire(const Op& op, Tensors& operands);
  void release(const Op& op, const Tensors& operands);
  Tensors find_operands(const Op& op);
  static bool all_resident(const Tensors& operands);
  CUresult page_in(const Op& op, Tensors& operands);
  CUresult try_page_in(const Op& op, const Tensors& operands, Turn& turn, Lock& lock);
  CUresult claim_and_move(const Tensors& operands, Lock& lock);
  CUresult wait_for_host_memory(Lock& lock);
  CUresult order(const Op& op, const Tensors& operands);
  CUresult wait_before_capture(const Tensor& tensor);
  CUresult refuse(const Op& op, std::size_t granules);
  CUresult time_out(const Op& op);
  void pin(const Op& op, const Tensors& operands);

  PagerState& state_;
  StreamTable& streams_;
  Transfers transfers_;
  const CUcontext context_;
  const std::chrono::milliseconds victim_wait_;
};

/// The op's kind in words, for messages.
const char* op_name(OpKind kind) noexcept;

}  // namespace tensorpager
