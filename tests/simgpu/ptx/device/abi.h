#pragma once

// What the executor and a compiled kernel know of each other. This text is compiled into every kernel, in front of the
// generated code: it includes nothing, so that a compile takes a fraction of a second.

namespace simgpu_device {

using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long;
using s8 = signed char;
using s16 = short;
using s32 = int;
using s64 = long;
using f32 = float;
using f64 = double;

// Why a thread stopped.
enum Wait : u8 {
  kRunning = 0,  // may be stepped
  kDone = 1,
  kWarp = 2,          // waits for the lanes of `member_mask`
  kBarrier = 3,       // waits at block barrier 0 for all of the block
  kNamedBarrier = 4,  // waits at block barrier `barrier` for `barrier_count` threads, or votes there
};

// What the lanes of a warp deposited at the yield that is being resumed; unchanged until all of them have run on.
struct Exchange {
  u32 arrived = 0;  // lanes
  u64 values[32] = {};
};

// The same for all threads of a block. Pointers are host pointers, `globals` holds device addresses.
struct Block {
  const u8* parameters = nullptr;
  u8* shared = nullptr;
  u8* local = nullptr;  // of the first thread; the next ones follow
  const u64* globals = nullptr;
  u32 block_dim[3] = {1, 1, 1};
  u32 grid_dim[3] = {1, 1, 1};
  u32 block_index[3] = {0, 0, 0};
  u32 dynamic_shared_bytes = 0;
  u32 shared_bytes = 0;  // static and dynamic
  u64 work = 0;          // both are added to by the kernel
  u64 bytes = 0;
  const Exchange* exchange = nullptr;
  void (*trap)(Block*) = nullptr;  // does not return
};

// The head of the state in which a thread waits; the kernel's live registers follow.
struct Thread {
  u32 resume = 0;  // number of the yield point, 0 at first
  u32 x = 0, y = 0, z = 0;
  u32 linear = 0;  // x + y * nx + z * nx * ny
  u32 member_mask = 0;
  u32 source_lane = 0;    // of a shuffle
  u32 barrier = 0;        // id, 0 to 15
  u32 barrier_count = 0;  // threads it waits for; 0: all of the block
  u32 participants = 0;   // set at release: threads that arrived at the barrier
  u32 votes = 0;          // set at release: those that deposited a non-zero value
  u64 deposit = 0;
};

// A kernel without yield points runs a whole block; one with them runs one thread to its next yield.
using RunBlock = void (*)(Block*);
using StepThread = Wait (*)(Block*, Thread*);

struct KernelEntry {
  RunBlock run_block;
  StepThread step_thread;
  u32 thread_bytes;  // of the state, head included
};

}  // namespace simgpu_device
