#include "interpose/loader_cache.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <random>

namespace tensorpager {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void put(std::string& out, std::uint64_t value, std::size_t bytes) {
  out.append(reinterpret_cast<const char*>(&value), bytes);
}

struct Library {
  std::uint32_t flags;
  std::string name, path;
};

std::string cache_of(const std::vector<Library>& libraries) {
  std::string out = "glibc-ld.so.cache1.1", texts;
  put(out, libraries.size(), 4);
  out.append(24, '\0');
  const std::size_t first_text = out.size() + libraries.size() * 24;
  for (const Library& library : libraries) {
    put(out, library.flags, 4);
    put(out, first_text + texts.size(), 4);
    texts += library.name + '\0';
    put(out, first_text + texts.size(), 4);
    texts += library.path + '\0';
    out.append(12, '\0');
  }
  return out + texts;
}

const std::vector<Library> kLibraries = {{0x0303, "libc.so.6", "/lib/libc.so.6"},
                                         {0x0003, "libcuda.so.1", "/lib32/libcuda.so.1"},
                                         {0x0303, "libcuda.so.1", "/first/libcuda.so.1"},
                                         {0x0303, "libcuda.so.1", "/second/libcuda.so.1"}};

TEST(LoaderCache, YieldsThe64BitPathsInOrder) {
  EXPECT_THAT(cached_paths(cache_of(kLibraries), "libcuda.so.1"),
              ElementsAre("/first/libcuda.so.1", "/second/libcuda.so.1"));
  EXPECT_THAT(cached_paths(cache_of(kLibraries), "libcuda.so"), IsEmpty());
}

TEST(LoaderCache, SkipsAnOlderFormBefore) {
  std::string old = "ld.so-1.7.0";
  old.append(53, '\0');
  EXPECT_THAT(cached_paths(old + cache_of(kLibraries), "libc.so.6"), ElementsAre("/lib/libc.so.6"));
}

TEST(LoaderCache, ReadsThisMachines) {
  // Any glibc system has a C library in its cache; the test says nothing where there is no cache at all.
  std::FILE* const file = std::fopen("/etc/ld.so.cache", "rb");
  if (file == nullptr) GTEST_SKIP() << "no /etc/ld.so.cache";
  std::string bytes(std::size_t{1} << 22, '\0');
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  EXPECT_FALSE(cached_paths(bytes, "libc.so.6").empty());
}

TEST(LoaderCache, AnyBytesAreSafe) {
  const std::string good = cache_of(kLibraries);
  for (std::size_t size = 0; size < good.size(); ++size) cached_paths(std::string(good, 0, size), "libcuda.so.1");
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    std::string bad = good;
    for (int change = 0; change < 4; ++change) bad[20 + random() % (bad.size() - 20)] = static_cast<char>(random());
    cached_paths(bad, "libcuda.so.1");
  }
  EXPECT_THAT(cached_paths("", "libcuda.so.1"), IsEmpty());
}

}  // namespace
}  // namespace tensorpager
