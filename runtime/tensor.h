#pragma once

#include <boost/intrusive/list.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/arena.h"
#include "runtime/stream_table.h"

namespace tensorpager {

/// The bytes of one granule on the host.
struct HostBlock {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
  Points busy;  ///< copies that write or read it
};

/// One device allocation of the job (or a slab of small ones), by address and generation. Under the pager's mutex.
struct Tensor : boost::intrusive::list_base_hook<> {
  GranuleIndex first = kNoGranule;
  std::uint32_t granules = 0;
  std::size_t bytes = 0;  ///< as asked for
  std::uint64_t generation = 0;

  std::uint32_t missing = 0;  ///< granules that are not resident
  std::uint32_t pins = 0;     ///< ops that are being submitted with it
  std::uint32_t transit = 0;  ///< threads that are moving its granules: nobody else touches it
  bool fixed = false;         ///< stays resident once it is: slabs, and what hardware may reach on its own
  bool slab = false;          ///< holds small blocks, and is itself no allocation of the job
  bool touched = false;       ///< an op has named it: its bytes count
  bool dead = false;          ///< freed; the record stays until nobody pins it

  Points last_use;              ///< at most one a stream
  Points ready;                 ///< every stream that uses it waits for these
  std::vector<HostBlock> host;  ///< by granule; empty until the first eviction

  std::size_t granule_bytes(std::uint32_t index, std::size_t granularity) const noexcept {
    return index + 1 < granules ? granularity : bytes - std::size_t{index} * granularity;
  }
};

using TensorList = boost::intrusive::list<Tensor>;  // least recently used first

}  // namespace tensorpager
