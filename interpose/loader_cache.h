#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tensorpager {

/// The paths that a glibc loader cache (the bytes of /etc/ld.so.cache) holds for a 64-bit x86 library name, in its
/// order. Any bytes may be given: what lies outside them is not read, and what is no cache yields nothing.
std::vector<std::string> cached_paths(std::string_view cache, std::string_view library);

}  // namespace tensorpager
