#include "interpose/allocator_settings.h"

#include <unistd.h>

#include <cstdlib>

#include "interpose/process_settings.h"
#include "runtime/log.h"

namespace tensorpager {
namespace {

// Programs may write into their environment (bash cuts its entries in two), so these are no constants.
char mark[] = "TENSORPAGER_INTERNAL_ALLOCATOR=1";  // inherited: children did not choose these either
char torch[] = "PYTORCH_CUDA_ALLOC_CONF=backend:cudaMallocAsync";
char newer_torch[] = "PYTORCH_ALLOC_CONF=backend:cudaMallocAsync";
char tensorflow[] = "TF_GPU_ALLOCATOR=cuda_malloc_async";
char jax[] = "XLA_PYTHON_CLIENT_ALLOCATOR=cuda_async";

struct Framework {
  std::string_view asked_by[2];  ///< variables by which the user would have chosen; the second may be empty
  char* entries[2];
};
constexpr std::array kFrameworks = {
    Framework{{"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"}, {torch, newer_torch}},
    Framework{{"TF_GPU_ALLOCATOR", ""}, {tensorflow, nullptr}},
    Framework{{"XLA_PYTHON_CLIENT_ALLOCATOR", ""}, {jax, nullptr}},
};

bool is_set(std::string_view variable) noexcept {
  return !variable.empty() && !option_reading::variable(environ, variable).empty();
}

bool chosen_by_user(const Framework& framework) noexcept {
  return is_set(framework.asked_by[0]) || is_set(framework.asked_by[1]);
}

}  // namespace

void set_allocator_variables(const Settings& settings) noexcept {
  if (settings.allocator != "auto" || !policy_moves(settings) || is_set("TENSORPAGER_INTERNAL_ALLOCATOR")) return;
  std::size_t count = 0;
  while (environ != nullptr && environ[count] != nullptr) ++count;
  // Never freed: it is the environment from now on.
  auto* const enlarged = static_cast<char**>(std::calloc(count + 2 * kFrameworks.size() + 2, sizeof(char*)));
  if (enlarged == nullptr) return;
  std::copy_n(environ, count, enlarged);
  const std::size_t before = count;
  for (const Framework& framework : kFrameworks) {
    if (chosen_by_user(framework)) continue;
    for (char* entry : framework.entries)
      if (entry != nullptr) enlarged[count++] = entry;
  }
  if (count > before) enlarged[count] = mark;
  environ = enlarged;
}

void report_allocator_settings(const Settings& settings) noexcept {
  if (settings.allocator != "auto" || !policy_moves(settings)) return;
  if (is_set("TENSORPAGER_INTERNAL_ALLOCATOR")) {
    TENSORPAGER_LOG(
        warn, "allocator",
        "frameworks are told to allocate tensors one by one (backend:cudaMallocAsync and the like), so that they "
        "can be moved. To leave their allocators alone: TENSORPAGER_ALLOCATOR=keep");
  }
  const std::string_view chosen = option_reading::variable(environ, "PYTORCH_CUDA_ALLOC_CONF");
  if (!chosen.empty() && chosen.find("cudaMallocAsync") == std::string_view::npos) {
    TENSORPAGER_LOG(warn, "allocator",
                    "PYTORCH_CUDA_ALLOC_CONF={} is yours and stays: PyTorch's segments are moved whole. To move single "
                    "tensors, add backend:cudaMallocAsync to it",
                    chosen);
  }
}

}  // namespace tensorpager
