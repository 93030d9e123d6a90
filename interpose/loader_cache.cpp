#include "interpose/loader_cache.h"

#include <cstdint>
#include <cstring>
#include <optional>

namespace tensorpager {
namespace {

// As glibc's sysdeps/generic/dl-cache.h describes it. An older form may precede the newer one, which starts with this
// text.
constexpr std::string_view kMagic = "glibc-ld.so.cache1.1";
constexpr std::int32_t kElf64X86 = 0x0303;  // FLAG_ELF_LIBC6 | FLAG_X8664_LIB64

struct Header {
  char magic[kMagic.size()];
  std::uint32_t entry_count;
  std::uint32_t string_bytes;
  std::uint32_t rest[5];
};
struct Entry {
  std::int32_t flags;
  std::uint32_t key, value;  // offsets of texts, from the header
  std::uint32_t system_version;
  std::uint64_t capabilities;
};
static_assert(sizeof(Header) == 48 && sizeof(Entry) == 24);

template <class Record>
std::optional<Record> record_at(std::string_view bytes, std::size_t offset) {
  if (offset > bytes.size() || bytes.size() - offset < sizeof(Record)) return std::nullopt;
  Record record;
  std::memcpy(&record, bytes.data() + offset, sizeof record);
  return record;
}

std::string_view text_at(std::string_view bytes, std::size_t offset) {
  if (offset >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(offset);
  const auto end = rest.find('\0');
  return end == std::string_view::npos ? std::string_view{} : rest.substr(0, end);
}

}  // namespace

std::vector<std::string> cached_paths(std::string_view cache, std::string_view library) {
  std::vector<std::string> paths;
  const auto start = cache.find(kMagic);
  if (start == std::string_view::npos) return paths;
  const std::string_view bytes = cache.substr(start);
  const auto header = record_at<Header>(bytes, 0);
  if (!header) return paths;
  for (std::uint32_t i = 0; i < header->entry_count; ++i) {
    const auto entry = record_at<Entry>(bytes, sizeof(Header) + std::size_t{i} * sizeof(Entry));
    if (!entry) break;
    if (entry->flags == kElf64X86 && text_at(bytes, entry->key) == library)
      paths.emplace_back(text_at(bytes, entry->value));
  }
  return paths;
}

}  // namespace tensorpager
