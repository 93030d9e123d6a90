#include "tests/simgpu/ptx/fat_binary.h"

#include <fmt/format.h>
#include <lz4.h>
#include <zstd.h>

#include <cctype>
#include <cstring>
#include <vector>

namespace simgpu::ptx {
namespace {

constexpr std::uint32_t kWrapperMagic = 0x466243B1;
constexpr std::uint32_t kContainerMagic = 0xBA55ED50;
constexpr std::uint32_t kElfMagic = 0x464C457F;
constexpr std::uint16_t kPtxEntry = 1;
constexpr std::uint64_t kLz4Flag = 0x2000;
constexpr std::uint64_t kZstdFlag = 0x8000;
constexpr std::uint64_t kLargestText = 1ULL << 30;

struct Wrapper {
  std::uint32_t magic;
  std::uint32_t version;
  const void* data;
  const void* const* linked;  // version 2: the linked containers, up to a null pointer
};

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t payload_bytes;
};

struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t stored_bytes;
  std::uint32_t compressed_bytes;
  std::uint32_t options_offset;
  std::uint32_t isa;
  std::uint32_t capability;
  std::uint64_t reserved;
  std::uint64_t flags;
  std::uint64_t reserved2;
  std::uint64_t uncompressed_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

struct Entry {
  EntryHeader header;
  const char* payload;
};

template <class T>
T read(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

tl::unexpected<LoadError> failure(LoadError::Kind kind, std::string message) {
  return tl::unexpected(LoadError{kind, std::move(message)});
}

tl::expected<void, LoadError> collect_entries(const void* image, std::vector<Entry>& entries) {
  const char* at = static_cast<const char*>(image);
  auto container = read<ContainerHeader>(at);
  // An empty container may stand before the real one.
  while (container.magic == kContainerMagic && container.payload_bytes == 0) {
    at += container.header_bytes;
    container = read<ContainerHeader>(at);
  }
  if (container.magic != kContainerMagic)
    return failure(LoadError::Kind::invalid_image, "a fat binary without magic number");
  at += container.header_bytes;
  for (const char* const end = at + container.payload_bytes; at < end;) {
    const auto room = static_cast<std::uint64_t>(end - at);
    if (room < sizeof(EntryHeader)) return failure(LoadError::Kind::invalid_image, "a fat binary is cut off");
    const auto header = read<EntryHeader>(at);
    const bool fits = header.header_bytes >= sizeof(EntryHeader) && header.header_bytes <= room &&
                      header.stored_bytes <= room - header.header_bytes;
    if (!fits) return failure(LoadError::Kind::invalid_image, "a fat binary's entry is longer than the binary");
    if (header.kind == kPtxEntry) entries.push_back({header, at + header.header_bytes});
    at += header.header_bytes + header.stored_bytes;
  }
  return {};
}

tl::expected<std::string, LoadError> decompress(const Entry& entry) {
  const auto& header = entry.header;
  std::string text(header.uncompressed_bytes, '\0');
  std::uint64_t length = 0;
  if ((header.flags & kZstdFlag) != 0) {
    length = ZSTD_decompress(text.data(), text.size(), entry.payload, header.compressed_bytes);
  } else {
    const int written = LZ4_decompress_safe(entry.payload, text.data(), static_cast<int>(header.compressed_bytes),
                                            static_cast<int>(text.size()));
    length = written < 0 ? ~0ULL : static_cast<std::uint64_t>(written);
  }
  if (length != text.size())
    return failure(LoadError::Kind::invalid_image, "a fat binary's PTX cannot be decompressed");
  return text;
}

tl::expected<std::string, LoadError> text_of(const Entry& entry) {
  const auto& header = entry.header;
  if ((header.flags & (kLz4Flag | kZstdFlag)) == 0)
    return std::string(entry.payload, strnlen(entry.payload, header.stored_bytes));
  if (header.uncompressed_bytes > kLargestText || header.compressed_bytes > header.stored_bytes)
    return failure(LoadError::Kind::invalid_image, "a fat binary's entry has impossible sizes");
  auto text = decompress(entry);
  if (text) text->resize(strnlen(text->data(), text->size()));
  return text;
}

/// Whether `a` is the better choice for the device.
bool suits_better(const Entry& a, const Entry& b, unsigned capability) {
  const bool a_fits = a.header.capability <= capability;
  const bool b_fits = b.header.capability <= capability;
  if (a_fits != b_fits) return a_fits;
  return a_fits ? a.header.capability > b.header.capability : a.header.capability < b.header.capability;
}

tl::expected<std::string, LoadError> choose(const std::vector<const void*>& containers, unsigned capability) {
  std::vector<Entry> entries;
  for (const void* container : containers)
    if (auto collected = collect_entries(container, entries); !collected) return tl::unexpected(collected.error());
  if (entries.empty()) return failure(LoadError::Kind::no_binary, "the fat binary holds machine code only, no PTX");
  const Entry* best = &entries.front();
  for (const Entry& entry : entries)
    if (suits_better(entry, *best, capability)) best = &entry;
  return text_of(*best);
}

std::vector<const void*> containers_of(const Wrapper& wrapper) {
  std::vector<const void*> containers;
  if (wrapper.version >= 2 && wrapper.linked != nullptr)
    for (const void* const* at = wrapper.linked; *at != nullptr; ++at) containers.push_back(*at);
  if (containers.empty()) containers.push_back(wrapper.data);
  return containers;
}

tl::expected<std::string, LoadError> plain_text(const char* text) {
  std::size_t length = 0;
  for (; text[length] != '\0'; ++length) {
    const auto c = static_cast<unsigned char>(text[length]);
    if (std::isprint(c) == 0 && std::isspace(c) == 0 && c < 0x80)
      return failure(LoadError::Kind::invalid_image, "the image is neither PTX nor a fat binary");
  }
  std::string source(text, length);
  if (source.find(".version") == source.npos)
    return failure(LoadError::Kind::invalid_image, "the image is neither PTX nor a fat binary");
  return source;
}

}  // namespace

tl::expected<std::string, LoadError> find_ptx(const void* image, unsigned capability) {
  if (image == nullptr) return failure(LoadError::Kind::invalid_image, "no image");
  const char* const bytes = static_cast<const char*>(image);
  // A text shorter than a magic number ends before it.
  if (strnlen(bytes, 4) < 4)
    return failure(LoadError::Kind::invalid_image, "the image is neither PTX nor a fat binary");
  switch (read<std::uint32_t>(bytes)) {
    case kWrapperMagic:
      return choose(containers_of(read<Wrapper>(bytes)), capability);
    case kContainerMagic:
      return choose({image}, capability);
    case kElfMagic:
      return failure(LoadError::Kind::no_binary, "the image is machine code, the simulated device runs PTX");
    default:
      return plain_text(bytes);
  }
}

}  // namespace simgpu::ptx
