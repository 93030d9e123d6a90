#pragma once

#include <initializer_list>
#include <string_view>

namespace tensorpager {

/// Writes "tensorpager: ...\n" to standard error in one piece, cut at 1000 bytes. Keeps errno. Never waits for a lock.
void say(std::initializer_list<std::string_view> parts) noexcept;

}  // namespace tensorpager
