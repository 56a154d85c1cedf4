//===- CubinKernelsTest.cpp - What kernels of machine code take -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/CubinKernels.h"

#include <gtest/gtest.h>

#include <cstring>
#include <elf.h>
#include <vector>

using namespace hocket;

namespace {

/// An ELF file as NVIDIA's assembler writes it, with what is read of it.
class CubinWriter {
public:
  CubinWriter() {
    file.resize(sizeof(Elf64_Ehdr));
    section("", SHT_NULL, "");
  }

  uint32_t section(const std::string &name, uint32_t type,
                   const std::string &bytes, uint64_t size = 0,
                   uint32_t link = 0) {
    Elf64_Shdr header = {};
    header.sh_name = uint32_t(names.size());
    names += name + '\0';
    header.sh_type = type;
    header.sh_offset = file.size();
    header.sh_size = type == SHT_NOBITS ? size : bytes.size();
    header.sh_link = link;
    file += bytes;
    headers.push_back(header);
    return uint32_t(headers.size() - 1);
  }

  std::string finish() {
    uint32_t strings = section(".shstrtab", SHT_STRTAB, "");
    headers[strings].sh_offset = file.size();
    headers[strings].sh_size = names.size();
    file += names;
    Elf64_Ehdr header = {};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_machine = EM_CUDA;
    header.e_shoff = file.size();
    header.e_shnum = uint16_t(headers.size());
    header.e_shstrndx = uint16_t(strings);
    for (const Elf64_Shdr &each : headers)
      file.append(reinterpret_cast<const char *>(&each), sizeof(each));
    std::memcpy(file.data(), &header, sizeof(header));
    return file;
  }

private:
  std::string file, names;
  std::vector<Elf64_Shdr> headers;
};

std::string words(std::initializer_list<uint32_t> values) {
  std::string text;
  for (uint32_t value : values)
    text.append(reinterpret_cast<const char *>(&value), sizeof(value));
  return text;
}

/// Two kernels, "sum" of 40 registers and "add" of 255, with the attributes
/// that stand around theirs.
std::string cubin(bool reserves) {
  CubinWriter writer;
  std::string strings("\0sum\0add\0", 9), symbols;
  for (uint32_t name : {0u, 1u, 5u}) {
    Elf64_Sym symbol = {};
    symbol.st_name = name;
    symbols.append(reinterpret_cast<const char *>(&symbol), sizeof(symbol));
  }
  uint32_t texts = writer.section(".strtab", SHT_STRTAB, strings);
  writer.section(".symtab", SHT_SYMTAB, symbols, 0, texts);
  // Format, attribute, size; 0x2f is the count of registers.
  std::string info = words(
      {0x00082f04, 1, 40, 0x00081104, 1, 96, 0x00010903, 0x00082f04, 2, 255});
  writer.section(".nv.info", 0x70000000, info);
  writer.section(".nv.shared.sum", SHT_NOBITS, "", 5120);
  if (reserves)
    writer.section(".nv.shared.reserved.0", SHT_NOBITS, "", 64);
  return writer.finish();
}

} // namespace

TEST(CubinKernels, RegistersAndSharedMemoryAreRead) {
  auto kernels = readCubinKernels(cubin(false));
  ASSERT_EQ(kernels.size(), 2);
  EXPECT_EQ(kernels["sum"].registers, 40);
  EXPECT_EQ(kernels["add"].registers, 255);
  EXPECT_EQ(kernels["sum"].sharedBytes, 5120);
  EXPECT_EQ(kernels["add"].sharedBytes, 0);
}

TEST(CubinKernels, WhatCudaReservesIsNotCounted) {
  EXPECT_EQ(readCubinKernels(cubin(true))["sum"].sharedBytes, 4096);
}

TEST(CubinKernels, OtherFilesHaveNone) {
  EXPECT_TRUE(readCubinKernels("").empty());
  EXPECT_TRUE(readCubinKernels("not a cubin at all").empty());
  std::string other = cubin(false);
  other[offsetof(Elf64_Ehdr, e_machine)] = EM_X86_64;
  EXPECT_TRUE(readCubinKernels(other).empty());
}

TEST(CubinKernels, DamagedFilesAreReadWithinTheirBounds) {
  const std::string whole = cubin(true);
  for (size_t size = 0; size < whole.size(); ++size)
    EXPECT_TRUE(readCubinKernels(whole.substr(0, size)).empty()) << size;
  for (size_t at = 0; at < whole.size(); ++at)
    for (char bits : {'\x01', '\x80', '\xff'}) {
      std::string damaged = whole;
      damaged[at] ^= bits;
      EXPECT_LE(readCubinKernels(damaged).size(), 3);
    }
}
