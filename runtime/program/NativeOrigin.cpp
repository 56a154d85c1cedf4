//===- NativeOrigin.cpp - Whose compiler made the native code -------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/program/NativeOrigin.h"

#include "base/CacheFolder.h"
#include "base/File.h"
#include "base/Format.h"
#include "base/Sha256.h"

#include <sys/stat.h>
#include <unistd.h>

using namespace hocket;

/// Of all machine code.
static std::vector<std::string> digestsOf(const program::Program &program) {
  std::vector<std::string> digests;
  for (const program::KernelModule &module : program.modules())
    for (const auto &variant : module.variants())
      if (variant.format() != "cuda-c++")
        digests.push_back(toHex(Sha256::of(variant.image())));
  return digests;
}

static std::string noteOf(const std::string &folder,
                          const std::string &digest) {
  return folder + "/" + digest + ".native";
}

/// Whether a note is there and the user's own.
static bool hasNote(const std::string &folder, const std::string &digest) {
  struct stat info;
  return ::lstat(noteOf(folder, digest).c_str(), &info) == 0 &&
         S_ISREG(info.st_mode) && info.st_uid == ::geteuid();
}

Status hocket::noteNativeCode(const program::Program &program) {
  HOCKET_ASSIGN_OR_RETURN(std::string folder, openCacheFolder());
  for (const std::string &digest : digestsOf(program))
    if (!hasNote(folder, digest))
      HOCKET_RETURN_IF_ERROR(
          writeFileAtomically(noteOf(folder, digest), "compiled here\n"));
  return okStatus();
}

std::vector<std::string>
hocket::foreignNativeCode(const program::Program &program) {
  std::vector<std::string> digests = digestsOf(program);
  StatusOr<std::string> folder = openCacheFolder();
  if (folder.ok())
    std::erase_if(digests, [&](const std::string &digest) {
      return hasNote(*folder, digest);
    });
  return digests;
}
