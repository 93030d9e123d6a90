#include "runtime/pager_state.h"

#include "runtime/statistics.h"

namespace tensorpager {

void PagerState::note_levels() const noexcept {
  Statistics& levels = statistics();
  const std::size_t device = budget.measured_fixed + budget.passed_through() + chunks.count() * arena->granularity();
  levels.device_peak.raise_to(device);
  levels.set_fixed_cost(budget.fixed());
  levels.host_peak.raise_to(host_bytes);
}

void PagerState::retire(HostBlock&& block) {
  if (block.data != nullptr) retiring.push_back(std::move(block));
}

void PagerState::drain_retiring(StreamTable& streams) {
  std::erase_if(retiring, [&](HostBlock& block) {
    streams.prune(block.busy);
    if (!block.busy.empty()) return false;
    host->release(block.data, block.bytes);
    host_bytes -= HostPool::footprint(block.bytes);
    return true;
  });
}

}  // namespace tensorpager
