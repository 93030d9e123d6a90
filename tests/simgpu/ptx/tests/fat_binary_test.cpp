// The reader on what nvcc really writes: PTX plain, as LZ4 and as zstd, beside machine code, for one capability and for
// several.

#include "tests/simgpu/ptx/fat_binary.h"

#include "tests/simgpu/ptx/tests/kernel_runner.h"

namespace simgpu::ptx {
namespace {

std::string target_of(const std::string& file, unsigned capability) {
  const std::string image = read_test_file(file);
  const auto text = find_ptx(image.data(), capability);
  if (!text) return text.error().message;
  const auto at = text->find(".target ");
  return text->substr(at + 8, text->find_first_of(",\n", at) - at - 8);
}

TEST(FatBinary, EveryCompressionGivesTheSameText) {
  const std::string plain = read_test_file("plain.fatbin");
  const auto expected = find_ptx(plain.data(), 75);
  ASSERT_TRUE(expected.has_value()) << expected.error().message;
  EXPECT_NE(expected->find(".entry saxpy"), std::string::npos);
  for (const char* file : {"lz4.fatbin", "zstd.fatbin"}) {
    const std::string image = read_test_file(file);
    EXPECT_LT(image.size(), plain.size()) << file << " is not compressed";
    const auto text = find_ptx(image.data(), 75);
    ASSERT_TRUE(text.has_value()) << file << ": " << text.error().message;
    EXPECT_EQ(*text, *expected) << file;
  }
}

TEST(FatBinary, TheHighestCapabilityThatFitsIsTaken) {
  EXPECT_EQ(target_of("several.fatbin", 75), "sm_75");
  EXPECT_EQ(target_of("several.fatbin", 80), "sm_80");
  EXPECT_EQ(target_of("several.fatbin", 89), "sm_80");
  EXPECT_EQ(target_of("several.fatbin", 90), "sm_90");
  EXPECT_EQ(target_of("plain.fatbin", 70), "sm_75");
}

TEST(FatBinary, MachineCodeAloneIsNoBinary) {
  const std::string image = read_test_file("machine_code.fatbin");
  const auto text = find_ptx(image.data(), 75);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().kind, LoadError::Kind::no_binary);
}

struct Wrapper {
  std::uint32_t magic = 0x466243B1;
  std::uint32_t version = 1;
  const void* data = nullptr;
  const void* const* linked = nullptr;
};

TEST(FatBinary, WrappersOfBothVersions) {
  const std::string image = read_test_file("zstd.fatbin");
  Wrapper wrapper;
  wrapper.data = image.data();
  EXPECT_TRUE(find_ptx(&wrapper, 75).has_value());
  const void* const linked[] = {image.data(), nullptr};
  const Wrapper second{0x466243B1, 2, nullptr, linked};
  EXPECT_TRUE(find_ptx(&second, 75).has_value());
}

TEST(FatBinary, AnEmptyContainerBeforeTheRealOneIsSkipped) {
  const std::string image = read_test_file("plain.fatbin");
  std::string empty = image.substr(0, 16);
  std::fill(empty.begin() + 8, empty.end(), '\0');
  EXPECT_TRUE(find_ptx((empty + image).data(), 75).has_value());
}

TEST(FatBinary, DamagedOnesAreRefused) {
  const std::string image = read_test_file("zstd.fatbin");
  std::string damaged = image;
  damaged[16 + 64 + 40] = static_cast<char>(~damaged[16 + 64 + 40]);
  std::string longer = image;
  longer[16 + 8 + 3] = 0x7f;
  for (const std::string* broken : {&damaged, &longer}) {
    const auto text = find_ptx(broken->data(), 75);
    ASSERT_FALSE(text.has_value());
    EXPECT_EQ(text.error().kind, LoadError::Kind::invalid_image);
  }
}

TEST(FatBinary, AModuleOfOneRuns) {
  const std::string image = read_test_file("zstd.fatbin");
  KernelRunner runner(image);
  const auto data = runner.upload(std::vector<float>{1, 2, 3});
  runner.launch("saxpy", shape(1, 32), 3, 2.0f, data, data);
  EXPECT_EQ(WindowMemory::view<float>(data, 3)[2], 9.0f);
}

}  // namespace
}  // namespace simgpu::ptx
