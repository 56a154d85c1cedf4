//===- KernelObjects.cpp - Objects that were compiled before --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/KernelObjects.h"

#include "base/Sha256.h"

#include <elf.h>
#include <link.h>
#include <string_view>
#include <utility>

using namespace hocket::cpu;

//===----------------------------------------------------------------------===//
// Build ids
//===----------------------------------------------------------------------===//

/// The build id in a segment of notes, in hexadecimal; empty if there is none.
static std::string buildIdIn(const char *notes, size_t bytes) {
  constexpr size_t alignment = 4;
  auto padded = [](size_t size) {
    return (size + alignment - 1) / alignment * alignment;
  };
  while (bytes >= sizeof(ElfW(Nhdr))) {
    const auto *note = reinterpret_cast<const ElfW(Nhdr) *>(notes);
    size_t name = padded(note->n_namesz), content = padded(note->n_descsz);
    size_t whole = sizeof(*note) + name + content;
    if (whole > bytes)
      break;
    const char *text = notes + sizeof(*note);
    if (note->n_type == NT_GNU_BUILD_ID && name == alignment &&
        std::string_view(text, 3) == "GNU")
      return hocket::toHex(std::string_view(text + name, note->n_descsz));
    notes += whole, bytes -= whole;
  }
  return "";
}

static std::string buildIdOf(const dl_phdr_info &object) {
  for (size_t i = 0; i < object.dlpi_phnum; ++i) {
    const ElfW(Phdr) &segment = object.dlpi_phdr[i];
    if (segment.p_type != PT_NOTE)
      continue;
    const auto *notes =
        reinterpret_cast<const char *>(object.dlpi_addr + segment.p_vaddr);
    if (std::string id = buildIdIn(notes, segment.p_memsz); !id.empty())
      return id;
  }
  return "";
}

namespace {
struct BuildIds {
  std::string text;
  bool any = false, missing = false;
};
} // namespace

/// Of the program, which comes first, and of the libraries that compile.
static int addBuildId(dl_phdr_info *object, size_t, void *to) {
  auto &ids = *static_cast<BuildIds *>(to);
  std::string_view name = object->dlpi_name;
  bool compiles = name.find("LLVM") != name.npos ||
                  name.find("MLIR") != name.npos ||
                  name.find("lld") != name.npos;
  if (std::exchange(ids.any, true) && !compiles)
    return 0;
  std::string id = buildIdOf(*object);
  ids.missing |= id.empty();
  ids.text += id + " ";
  return 0;
}

std::string hocket::cpu::compilerIdentity() {
  BuildIds ids;
  ::dl_iterate_phdr(&addBuildId, &ids);
  return ids.missing ? "" : ids.text;
}

//===----------------------------------------------------------------------===//
// KernelObjects
//===----------------------------------------------------------------------===//

std::shared_ptr<KernelObjects> KernelObjects::kept() {
  static const std::shared_ptr<KernelObjects> objects = [] {
    StatusOr<ResultCache> cache = ResultCache::open();
    std::string identity = compilerIdentity();
    return cache.ok() && !identity.empty()
               ? std::make_shared<KernelObjects>(*std::move(cache), identity)
               : std::make_shared<KernelObjects>();
  }();
  return objects;
}

std::string KernelObjects::keyOf(const std::string &isa,
                                 const std::string &kernel) const {
  return ResultCache::keyOf({"object of a kernel", identity, isa, kernel});
}

std::optional<std::string> KernelObjects::find(const std::string &isa,
                                               const std::string &kernel) {
  {
    std::lock_guard lock(mutex);
    auto found = objects.find({isa, kernel});
    if (found != objects.end())
      return found->second;
  }
  if (!cache)
    return std::nullopt;
  std::optional<std::string> object = cache->find(keyOf(isa, kernel));
  if (object) {
    std::lock_guard lock(mutex);
    objects.insert_or_assign({isa, kernel}, *object);
  }
  return object;
}

void KernelObjects::keep(const std::string &isa, const std::string &kernel,
                         const std::string &object) {
  // An object that cannot be kept is as good.
  if (cache)
    (void)cache->store(keyOf(isa, kernel), object);
  std::lock_guard lock(mutex);
  objects.insert_or_assign({isa, kernel}, object);
}

size_t KernelObjects::size() const {
  std::lock_guard lock(mutex);
  return objects.size();
}
