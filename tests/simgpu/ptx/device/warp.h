#pragma once

// What a thread computes around a yield: where a shuffle reads from, and what the others deposited. Compiled into every
// kernel behind convert.h; includes nothing.

namespace simgpu_device {

constexpr u32 kOutOfRange = 32;  // flag beside the source lane: the shuffle's predicate is false

enum Shuffle { kShuffleBfly, kShuffleUp, kShuffleDown, kShuffleIdx };

template <Shuffle S>
SIMGPU_INLINE u32 shuffle_source(u32 lane, u32 b, u32 c) {
  const u32 segment = (c >> 8) & 31;
  const s32 clamp = s32(c & 31);
  const s32 highest = s32((lane & segment) | (u32(clamp) & ~segment));
  const s32 lowest = s32(lane & segment);
  const s32 delta = s32(b & 31);
  const s32 source = S == kShuffleBfly   ? s32(lane) ^ delta
                     : S == kShuffleUp   ? s32(lane) - delta
                     : S == kShuffleDown ? s32(lane) + delta
                                         : lowest | (delta & ~s32(segment));
  const bool valid = S == kShuffleUp ? source >= highest : source <= highest;
  return valid ? u32(source) : lane | kOutOfRange;
}
SIMGPU_INLINE u32 shuffled(const Block& block, const Thread& thread) {
  return u32(block.exchange->values[thread.source_lane & 31]);
}
SIMGPU_INLINE bool shuffle_valid(const Thread& thread) {
  return (thread.source_lane & kOutOfRange) == 0;
}

SIMGPU_INLINE u32 ballot(const Block& block) {
  u32 result = 0;
  for (u32 i = 0; i < 32; ++i)
    result |= u32(((block.exchange->arrived >> i) & 1) != 0 && block.exchange->values[i] != 0) << i;
  return result;
}
SIMGPU_INLINE bool vote_any(const Block& block) {
  return ballot(block) != 0;
}
SIMGPU_INLINE bool vote_all(const Block& block) {
  return ballot(block) == block.exchange->arrived;
}
SIMGPU_INLINE bool vote_uni(const Block& block) {
  return vote_all(block) || !vote_any(block);
}

SIMGPU_INLINE u32 match_any(const Block& block, u64 value) {
  u32 result = 0;
  for (u32 i = 0; i < 32; ++i)
    result |= u32(((block.exchange->arrived >> i) & 1) != 0 && block.exchange->values[i] == value) << i;
  return result;
}

template <class T, T (*F)(T, T)>
SIMGPU_INLINE T reduce_lanes(const Block& block) {
  bool first = true;
  T result = 0;
  for (u32 i = 0; i < 32; ++i) {
    if (((block.exchange->arrived >> i) & 1) == 0) continue;
    const T value = T(block.exchange->values[i]);
    result = first ? value : F(result, value);
    first = false;
  }
  return result;
}

}  // namespace simgpu_device
