// What happens when the library is loaded, into any program at all: nothing, unless something is set.

#include "interpose/allocator_settings.h"
#include "interpose/hello.h"
#include "interpose/process_settings.h"

namespace tensorpager {
namespace {

__attribute__((constructor)) void at_load() noexcept {
  if (!anything_set()) return say_hello(Hello::loaded);
  const ReadSettings read = read_process_settings();
  if (read.settings.disable) return;
  say_hello(Hello::loaded);
  if (read.usable()) set_allocator_variables(read.settings);
}

}  // namespace
}  // namespace tensorpager
