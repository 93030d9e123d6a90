#include "runtime/chunk_pool.h"

#include "runtime/driver.h"

namespace tensorpager {

void ChunkPool::take(Chunk& chunk) noexcept {
  List& list = chunk.mapped == kNoGranule ? unmapped_ : idle_;
  list.erase(List::s_iterator_to(chunk));
}

Chunk* ChunkPool::take_unmapped() noexcept {
  if (unmapped_.empty()) return nullptr;
  Chunk& chunk = unmapped_.front();
  take(chunk);
  return &chunk;
}

Chunk* ChunkPool::take_idle() noexcept {
  if (idle_.empty()) return nullptr;
  Chunk& chunk = idle_.front();
  take(chunk);
  return &chunk;
}

void ChunkPool::reserve_new(std::size_t count) {
  while (vacant_.size() < count) vacant_.push_back(chunks_.emplace_back());
}

Chunk* ChunkPool::take_new() noexcept {
  Chunk& chunk = vacant_.front();
  vacant_.pop_front();
  ++count_;
  return &chunk;
}

void ChunkPool::disown(Chunk& chunk) noexcept {
  chunk.owner = kNoGranule;
}

void ChunkPool::assigned(Chunk& chunk) noexcept {
  chunk.owner = chunk.mapped;
  chunk.ready.clear();
}

void ChunkPool::freed(Chunk& chunk) noexcept {
  chunk.owner = kNoGranule;
  (chunk.mapped == kNoGranule ? unmapped_ : idle_).push_back(chunk);
}

void ChunkPool::removed(Chunk& chunk) noexcept {
  --count_;
  chunk.handle = 0;
  chunk.ready.clear();
  vacant_.push_back(chunk);
}

ChunkDriver::ChunkDriver(CUdevice device, const Arena& arena) noexcept : arena_(arena) {
  properties_.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties_.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties_.location.id = device;
  access_.location = properties_.location;
  access_.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
}

CUresult ChunkDriver::create(Chunk& chunk) const noexcept {
  return driver().cuMemCreate(&chunk.handle, arena_.granularity(), &properties_, 0);
}

CUresult ChunkDriver::release(Chunk& chunk) const noexcept {
  return driver().cuMemRelease(chunk.handle);
}

namespace {

std::size_t run_length(std::span<const GranuleIndex> granules) noexcept {
  std::size_t length = 1;
  while (length < granules.size() && granules[length] == granules[length - 1] + 1) ++length;
  return length;
}

}  // namespace

CUresult ChunkDriver::grant(std::span<const GranuleIndex> granules) const noexcept {
  while (!granules.empty()) {
    const std::size_t length = run_length(granules);
    const CUresult result =
        driver().cuMemSetAccess(arena_.address(granules[0]), length * arena_.granularity(), &access_, 1);
    if (result != CUDA_SUCCESS) return result;
    granules = granules.subspan(length);
  }
  return CUDA_SUCCESS;
}

CUresult ChunkDriver::map(std::span<Chunk* const> chunks, std::span<const GranuleIndex> granules) const noexcept {
  std::size_t mapped = 0;
  CUresult result = CUDA_SUCCESS;
  while (mapped < chunks.size() && result == CUDA_SUCCESS) {
    result = driver().cuMemMap(arena_.address(granules[mapped]), arena_.granularity(), 0, chunks[mapped]->handle, 0);
    if (result == CUDA_SUCCESS) ++mapped;
  }
  if (result == CUDA_SUCCESS) result = grant(granules);
  if (result == CUDA_SUCCESS) return result;
  std::size_t done = 0;
  for (auto left = granules.first(mapped); !left.empty(); left = left.subspan(done)) {
    if (unmap_run(left, done) != CUDA_SUCCESS) break;
  }
  return result;
}

CUresult ChunkDriver::unmap_run(std::span<const GranuleIndex> granules, std::size_t& done) const noexcept {
  done = run_length(granules);
  return driver().cuMemUnmap(arena_.address(granules[0]), done * arena_.granularity());
}

}  // namespace tensorpager
