//===- CubinKernels.cpp - What kernels of machine code take ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/CubinKernels.h"

#include "base/CheckedMath.h"

#include <cstring>
#include <elf.h>
#include <optional>
#include <vector>

using namespace hocket;

namespace {

constexpr std::string_view infoSection = ".nv.info";
constexpr std::string_view sharedPrefix = ".nv.shared.";
/// Where it exists, shared memory of kernels counts what CUDA reserves.
constexpr std::string_view reservedSection = ".nv.shared.reserved.0";
constexpr uint64_t reservedBytes = 1024;

/// An attribute of .nv.info: how its value is stored, and which one it is.
struct Attribute {
  uint8_t format, kind;
  uint16_t bytes; ///< Of a value that follows.
};
constexpr uint8_t sizedFormat = 4, registerCount = 0x2f;
/// The value of that one.
struct RegisterCount {
  uint32_t symbol, registers;
};

class CubinReader {
public:
  explicit CubinReader(std::string_view image) : image(image) {}

  std::map<std::string, CubinKernel> read() {
    auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_machine != EM_CUDA || !readSections(*header))
      return {};
    for (const Section &section : sections)
      if (section.name == infoSection)
        readInfo(bytesOf(section.header));
    readShared();
    return kernels;
  }

private:
  struct Section {
    std::string_view name;
    Elf64_Shdr header;
  };

  template <typename T> std::optional<T> at(uint64_t offset) const {
    return valueOf<T>(image, offset);
  }
  template <typename T>
  static std::optional<T> valueOf(std::string_view bytes, uint64_t offset) {
    if (!rangeInside(offset, sizeof(T), bytes.size()))
      return std::nullopt;
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof(T));
    return value;
  }

  /// Empty where the file ends before it does.
  std::string_view bytesOf(const Elf64_Shdr &section) const {
    if (section.sh_type == SHT_NOBITS ||
        !rangeInside(section.sh_offset, section.sh_size, image.size()))
      return {};
    return image.substr(section.sh_offset, section.sh_size);
  }

  static std::string_view textAt(std::string_view strings, uint64_t offset) {
    if (offset >= strings.size())
      return {};
    return strings.substr(offset, strings.find('\0', offset) - offset);
  }

  bool readSections(const Elf64_Ehdr &header) {
    std::vector<Elf64_Shdr> headers;
    for (uint64_t i = 0; i < header.e_shnum; ++i) {
      auto place = checkedAdd(header.e_shoff, i * sizeof(Elf64_Shdr));
      auto section = place ? at<Elf64_Shdr>(*place) : std::nullopt;
      if (!section)
        return false;
      headers.push_back(*section);
    }
    if (header.e_shstrndx >= headers.size())
      return false;
    std::string_view names = bytesOf(headers[header.e_shstrndx]);
    for (const Elf64_Shdr &section : headers)
      sections.push_back({textAt(names, section.sh_name), section});
    return true;
  }

  std::string symbolName(uint32_t symbol) const {
    for (const Section &section : sections) {
      if (section.header.sh_type != SHT_SYMTAB ||
          section.header.sh_link >= sections.size())
        continue;
      auto entry = valueOf<Elf64_Sym>(bytesOf(section.header),
                                      symbol * sizeof(Elf64_Sym));
      if (entry)
        return std::string(textAt(
            bytesOf(sections[section.header.sh_link].header), entry->st_name));
    }
    return "";
  }

  void readInfo(std::string_view info) {
    for (uint64_t offset = 0;;) {
      auto attribute = valueOf<Attribute>(info, offset);
      if (!attribute)
        return;
      offset += sizeof(Attribute);
      if (attribute->format != sizedFormat)
        continue; // Its value is where others have their size.
      auto value = valueOf<RegisterCount>(info, offset);
      if (attribute->kind == registerCount && value) {
        std::string name = symbolName(value->symbol);
        if (!name.empty())
          kernels[name].registers = value->registers;
      }
      offset += attribute->bytes;
    }
  }

  void readShared() {
    uint64_t reserved = 0;
    for (const Section &section : sections)
      if (section.name == reservedSection)
        reserved = reservedBytes;
    for (const Section &section : sections) {
      if (!section.name.starts_with(sharedPrefix))
        continue;
      auto kernel =
          kernels.find(std::string(section.name.substr(sharedPrefix.size())));
      if (kernel != kernels.end() && section.header.sh_size > reserved)
        kernel->second.sharedBytes = section.header.sh_size - reserved;
    }
  }

  std::string_view image;
  std::vector<Section> sections;
  std::map<std::string, CubinKernel> kernels;
};

} // namespace

std::map<std::string, CubinKernel>
hocket::readCubinKernels(std::string_view image) {
  return CubinReader(image).read();
}
