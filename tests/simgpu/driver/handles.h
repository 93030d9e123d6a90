#pragma once

// What the opaque handles of the driver API point to. A handle is the object's address; a table says which addresses
// are valid.

#include <cuda.h>

#include <memory>
#include <string>
#include <unordered_map>

#include "tests/simgpu/device/op.h"
#include "tests/simgpu/kernel.h"

namespace simgpu {

template <class Object>
class Handles {
 public:
  template <class Handle>
  Handle add(std::shared_ptr<Object> object) {
    Object* const address = object.get();
    objects_.emplace(address, std::move(object));
    return reinterpret_cast<Handle>(address);
  }
  /// nullptr for anything that is no valid handle of this kind.
  std::shared_ptr<Object> find(const void* handle) const {
    const auto found = objects_.find(handle);
    return found == objects_.end() ? nullptr : found->second;
  }
  bool remove(const void* handle) { return objects_.erase(handle) != 0; }
  template <class Predicate>
  void remove_if(Predicate predicate) {
    std::erase_if(objects_, [&](const auto& entry) { return predicate(*entry.second); });
  }
  std::size_t size() const noexcept { return objects_.size(); }

 private:
  std::unordered_map<const void*, std::shared_ptr<Object>> objects_;
};

/// Loaded code and the device memory it takes.
struct Code {
  std::unique_ptr<Module> module;
  std::uint64_t charged = 0;
};

struct ModuleObject;

/// What a CUfunction is. Launches keep the code alive.
struct FunctionObject {
  std::shared_ptr<Code> code;
  Kernel* kernel;
  NativeRun native;  ///< runs instead of the kernel when there is one
  std::string name;
  CUmodule module;
  int max_dynamic_shared;
  int carveout = -1;
};

/// What a CUkernel is: no context, not a CUfunction, though launches take it as one.
struct KernelObject {
  CUlibrary library;
  std::shared_ptr<FunctionObject> function;
};

struct ModuleObject {
  std::shared_ptr<Code> code;
  Context* context;
  std::unordered_map<std::string, CUfunction> functions;
};

struct LibraryObject {
  std::shared_ptr<Code> code;
  std::unordered_map<std::string, CUkernel> kernels;
  CUmodule module = nullptr;  ///< made when asked for
};

}  // namespace simgpu
