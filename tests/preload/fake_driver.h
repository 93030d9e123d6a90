#pragma once

// What the fake driver remembers. Its functions are looked up with dlsym; the driver is not thread-safe.

#include <cstdint>

struct FakeLastCall {
  std::uint64_t integers[6];
  double doubles[8];
  std::uint64_t stack[16];
};

using FakeCalls = unsigned long (*)(unsigned row);                       // "fake_calls": how often a row was called
using FakeNoteHook = void (*)(const char* hook, unsigned long address);  // "fake_note_hook": the hook probe tells
struct FakeHookNote {
  const char* hook;
  unsigned long address;
  unsigned long count;
};
using FakeHooks = const FakeHookNote* (*)();  // "fake_hooks": the last note, and how many there were
