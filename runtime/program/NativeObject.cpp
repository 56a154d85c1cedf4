//===- NativeObject.cpp - What a shared object may hold ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Looks at what the dynamic loader looks at: program headers and what the
/// dynamic segment names. Section headers, which it ignores, are ignored.
///
//===----------------------------------------------------------------------===//

#include "runtime/program/NativeObject.h"

#include "base/CheckedMath.h"
#include "base/Format.h"

#include <cstring>
#include <elf.h>
#include <map>
#include <optional>
#include <set>
#include <vector>

using namespace hocket;

/// Bytes that the loader maps at once.
static constexpr uint64_t page = 4096;

namespace {

/// One object; `fault` keeps the first reason.
class ObjectReader {
public:
  explicit ObjectReader(std::string_view image) : image(image) {}

  std::string check() {
    if (!readHeaders() || !readDynamic() || !checkRelocations())
      return fault;
    checkSymbols();
    return fault;
  }

private:
  bool fail(const std::string &what) {
    if (fault.empty())
      fault = what;
    return false;
  }

  /// The object of type T at byte `offset` of the file.
  template <typename T> std::optional<T> at(uint64_t offset) const {
    if (!rangeInside(offset, sizeof(T), image.size()))
      return std::nullopt;
    T value;
    std::memcpy(&value, image.data() + offset, sizeof(T));
    return value;
  }

  /// The same at a virtual address, in the one segment that holds it.
  template <typename T> std::optional<T> atAddress(uint64_t address) const {
    for (const Elf64_Phdr &load : loads)
      if (address >= load.p_vaddr &&
          rangeInside(address - load.p_vaddr, sizeof(T), load.p_filesz))
        return at<T>(load.p_offset + (address - load.p_vaddr));
    return std::nullopt;
  }

  bool readHeaders() {
    auto header = at<Elf64_Ehdr>(0);
    if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != ELFCLASS64 ||
        header->e_ident[EI_DATA] != ELFDATA2LSB || header->e_type != ET_DYN ||
        header->e_machine != EM_X86_64 ||
        header->e_phentsize != sizeof(Elf64_Phdr))
      return fail("is no ELF shared object for x86-64");
    for (unsigned i = 0; i < header->e_phnum; ++i) {
      auto segment =
          at<Elf64_Phdr>(header->e_phoff + uint64_t(i) * sizeof(Elf64_Phdr));
      if (!segment)
        return fail("has program headers outside of the file");
      if (!addSegment(*segment))
        return false;
    }
    return dynamic || fail("has no dynamic segment");
  }

  bool addSegment(const Elf64_Phdr &segment) {
    if ((segment.p_flags & PF_W) && (segment.p_flags & PF_X))
      return fail("has memory that is writable and executable");
    switch (segment.p_type) {
    case PT_LOAD: {
      if (!rangeInside(segment.p_offset, segment.p_filesz, image.size()) ||
          segment.p_filesz > segment.p_memsz ||
          !checkedAdd(segment.p_vaddr, segment.p_memsz))
        return fail("has a segment outside of the file");
      // Where two met in a page, the loader would show other bytes than these.
      if (!loads.empty() && segment.p_vaddr / page * page <
                                loads.back().p_vaddr + loads.back().p_memsz)
        return fail("has segments that share a page");
      loads.push_back(segment);
      return true;
    }
    case PT_DYNAMIC:
      if (dynamic)
        return fail("has two dynamic segments");
      dynamic = segment;
      return true;
    case PT_NULL:
    case PT_PHDR:
    case PT_NOTE:
    case PT_GNU_EH_FRAME:
    case PT_GNU_STACK:
    case PT_GNU_RELRO:
      return true;
    default:
      return fail(formatText("has a segment of type 0x%x, which the compiler "
                             "never makes",
                             segment.p_type));
    }
  }

  /// A tag that neither runs nor loads anything.
  static bool isPlain(int64_t tag) {
    static const std::set<int64_t> plain = {
        DT_HASH,   DT_GNU_HASH, DT_STRTAB,   DT_STRSZ,    DT_SYMTAB,
        DT_SYMENT, DT_RELA,     DT_RELASZ,   DT_RELAENT,  DT_RELACOUNT,
        DT_JMPREL, DT_PLTRELSZ, DT_PLTREL,   DT_PLTGOT,   DT_SONAME,
        DT_FLAGS,  DT_FLAGS_1,  DT_BIND_NOW, DT_SYMBOLIC, DT_DEBUG};
    return plain.count(tag) != 0;
  }

  static const char *meaningOf(int64_t tag) {
    switch (tag) {
    case DT_INIT:
    case DT_INIT_ARRAY:
    case DT_PREINIT_ARRAY:
      return "has a constructor, which would run when it is loaded";
    case DT_FINI:
    case DT_FINI_ARRAY:
      return "has a destructor, which would run when it is unloaded";
    case DT_NEEDED:
    case DT_AUXILIARY:
    case DT_FILTER:
      return "needs another library";
    default:
      return nullptr;
    }
  }

  bool readDynamic() {
    for (uint64_t i = 0; i < dynamic->p_memsz / sizeof(Elf64_Dyn); ++i) {
      auto entry =
          atAddress<Elf64_Dyn>(dynamic->p_vaddr + i * sizeof(Elf64_Dyn));
      if (!entry)
        return fail("has a dynamic segment outside of the file");
      if (entry->d_tag == DT_NULL)
        return true;
      if (const char *meaning = meaningOf(entry->d_tag))
        return fail(meaning);
      if (!isPlain(entry->d_tag))
        return fail(formatText("has the dynamic tag 0x%llx, which the "
                               "compiler never makes",
                               (unsigned long long)entry->d_tag));
      if (!tags.emplace(entry->d_tag, entry->d_un.d_val).second)
        return fail("has a dynamic tag twice");
    }
    return fail("has a dynamic segment without an end");
  }

  uint64_t tag(int64_t which) const {
    auto found = tags.find(which);
    return found == tags.end() ? 0 : found->second;
  }

  /// The symbol of index `i` is defined here, and finding it calls nothing.
  bool checkSymbol(uint64_t i) {
    auto symbol = atAddress<Elf64_Sym>(tag(DT_SYMTAB) + i * sizeof(Elf64_Sym));
    if (!symbol)
      return fail("has symbols outside of the file");
    if (ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC)
      return fail("has an indirect function, which would run when it is "
                  "looked up");
    if (symbol->st_shndx == SHN_UNDEF)
      return fail("imports a name");
    return true;
  }

  bool checkRelocations() {
    return checkRelocations(tag(DT_RELA), tag(DT_RELASZ)) &&
           checkRelocations(tag(DT_JMPREL), tag(DT_PLTRELSZ));
  }

  bool checkRelocations(uint64_t address, uint64_t bytes) {
    for (uint64_t i = 0; i < bytes / sizeof(Elf64_Rela); ++i) {
      auto relocation = atAddress<Elf64_Rela>(address + i * sizeof(Elf64_Rela));
      if (!relocation)
        return fail("has relocations outside of the file");
      switch (ELF64_R_TYPE(relocation->r_info)) {
      case R_X86_64_NONE:
      case R_X86_64_RELATIVE:
        break;
      case R_X86_64_64:
      case R_X86_64_GLOB_DAT:
      case R_X86_64_JUMP_SLOT:
        if (!checkSymbol(ELF64_R_SYM(relocation->r_info)))
          return false;
        break;
      case R_X86_64_IRELATIVE:
        return fail("has an indirect function, which would run when it is "
                    "loaded");
      default:
        return fail(formatText("has a relocation of type %u, which the "
                               "compiler never makes",
                               unsigned(ELF64_R_TYPE(relocation->r_info))));
      }
    }
    return true;
  }

  /// All symbols that can be looked up: those in the hash table.
  bool checkSymbols() {
    if (tags.count(DT_HASH))
      return fail("has a hash table of the old form, which the compiler never "
                  "makes");
    uint64_t table = tag(DT_GNU_HASH);
    if (table == 0)
      return true; // Nothing can be found.
    auto buckets = atAddress<uint32_t>(table);
    auto first = atAddress<uint32_t>(table + 4);
    auto words = atAddress<uint32_t>(table + 8);
    if (!buckets || !first || !words)
      return fail("has a hash table outside of the file");
    uint64_t bucketsAt = table + 16 + uint64_t(*words) * 8;
    uint64_t chainsAt = bucketsAt + uint64_t(*buckets) * 4;
    std::set<uint32_t> starts;
    for (uint64_t b = 0; b < *buckets; ++b) {
      auto start = atAddress<uint32_t>(bucketsAt + b * 4);
      if (!start)
        return fail("has a hash table outside of the file");
      if (*start != 0 && starts.insert(*start).second &&
          !checkChain(*start, *first, chainsAt))
        return false;
    }
    return true;
  }

  bool checkChain(uint64_t symbol, uint64_t first, uint64_t chainsAt) {
    for (;; ++symbol) {
      if (symbol < first)
        return fail("has a hash table that names no symbol");
      auto hash = atAddress<uint32_t>(chainsAt + (symbol - first) * 4);
      if (!hash)
        return fail("has a hash table outside of the file");
      if (!seen.insert(symbol).second)
        return true; // Checked from here to the end of the chain.
      if (!checkSymbol(symbol))
        return false;
      if (*hash & 1)
        return true;
    }
  }

  std::string_view image;
  std::string fault;
  std::vector<Elf64_Phdr> loads;
  std::optional<Elf64_Phdr> dynamic;
  std::map<int64_t, uint64_t> tags;
  std::set<uint64_t> seen;
};

} // namespace

std::string hocket::nativeObjectFault(std::string_view image) {
  return ObjectReader(image).check();
}
