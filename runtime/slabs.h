#pragma once

// Small allocations, cut from slabs: tensors of one granule that stay resident. Stream order is kept: an extent freed
// on one stream is handed out on another only with the points that its new user must wait for.
//
// Under the pager's mutex. Lists and merges extents by address, first fit.

#include <cuda.h>

#include <cstddef>
#include <map>
#include <optional>

#include "runtime/stream_table.h"

namespace tensorpager {

struct Block {
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  Points wait_for;  ///< the user's stream must wait for these before the first use
};

class Slabs {
 public:
  /// A block from the slabs that exist; nullopt: another slab is needed.
  std::optional<Block> take(std::size_t bytes);
  void add_slab(CUdeviceptr address, std::size_t bytes);

  /// The block that holds the address.
  std::optional<Block> find(CUdeviceptr address) const;

  /// Takes back the block that begins at `address`. nullopt: there is none. Else the slab that is empty now, or 0.
  std::optional<CUdeviceptr> give_back(CUdeviceptr address, const Points& freed);
  /// Forgets an empty slab; what its next user must wait for.
  Points remove_slab(CUdeviceptr slab);

 private:
  static constexpr std::size_t kAlignment = 512;
  struct Extent {
    std::size_t bytes = 0;
    std::size_t asked = 0;  // 0: free
    Points ready;
  };
  using Extents = std::map<CUdeviceptr, Extent>;

  Extents::iterator merge_neighbours(Extents& extents, Extents::iterator extent);

  std::map<CUdeviceptr, Extents> slabs_;
};

}  // namespace tensorpager
