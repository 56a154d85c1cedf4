//===- SharedObject.cpp - Object files to one shared object ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/SharedObject.h"

#include "lld/Common/Driver.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"

#include <mutex>
#include <vector>

LLD_HAS_DRIVER(elf)

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace hocket::cpu {

Error checkSelfContained(StringRef object) {
  auto file = llvm::object::ObjectFile::createELFObjectFile(
      llvm::MemoryBufferRef(object, "kernels"));
  if (!file)
    return file.takeError();
  for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
    Expected<uint32_t> flags = symbol.getFlags();
    if (!flags)
      return flags.takeError();
    if (!(*flags & llvm::object::SymbolRef::SF_Undefined) ||
        (*flags & llvm::object::SymbolRef::SF_FormatSpecific))
      continue;
    Expected<StringRef> name = symbol.getName();
    if (!name)
      return name.takeError();
    return createStringError("generated code calls '" + *name +
                             "', which no kernel defines");
  }
  return Error::success();
}

namespace {

/// A file of its own that is removed at the end.
class TemporaryFile {
public:
  Error create(StringRef suffix) {
    std::error_code code =
        llvm::sys::fs::createTemporaryFile("hocket-kernels", suffix, path);
    if (code)
      return createStringError(code, "cannot create a temporary file");
    remover.setFile(path);
    return Error::success();
  }

  Error write(StringRef bytes) {
    std::error_code code;
    llvm::raw_fd_ostream stream(path, code);
    if (!code) {
      stream << bytes;
      stream.close();
      code = stream.error();
      stream.clear_error();
    }
    return code ? createStringError(code, "cannot write '" + path.str() + "'")
                : Error::success();
  }

  Expected<std::string> read() const {
    auto buffer = llvm::MemoryBuffer::getFile(path, /*IsText=*/false,
                                              /*RequiresNullTerminator=*/false);
    if (!buffer)
      return createStringError(buffer.getError(),
                               "cannot read '" + path.str() + "'");
    return (*buffer)->getBuffer().str();
  }

  llvm::SmallString<128> path;

private:
  llvm::FileRemover remover;
};

} // namespace

/// What lld says, if it fails. It keeps its state in globals and ends the
/// process by what it calls fatal, unless LLVM recovers from crashes.
static Error runLld(llvm::ArrayRef<const char *> arguments) {
  static std::mutex one;
  std::lock_guard lock(one);
  std::string said;
  llvm::raw_string_ostream stream(said);
  llvm::CrashRecoveryContext::Enable();
  lld::Result result =
      lld::lldMain(arguments, stream, stream, {{lld::Gnu, &lld::elf::link}});
  llvm::CrashRecoveryContext::Disable();
  if (result.retCode != 0 || !result.canRunAgain)
    return createStringError("lld cannot link kernels: " +
                             StringRef(stream.str()).trim());
  return Error::success();
}

/// One file of all objects: a program has hundreds, and a file system takes
/// longer to make as many files than lld to link them.
static Error writeObjects(llvm::ArrayRef<std::string> objects,
                          TemporaryFile &file) {
  std::vector<llvm::NewArchiveMember> members;
  for (const std::string &object : objects)
    members.emplace_back(llvm::MemoryBufferRef(object, "kernel.o"));
  auto archive = llvm::writeArchiveToBuffer(
      members, llvm::SymtabWritingMode::NoSymtab, llvm::object::Archive::K_GNU,
      /*Deterministic=*/true, /*Thin=*/false);
  if (!archive)
    return archive.takeError();
  if (Error error = file.create("a"))
    return error;
  return file.write((*archive)->getBuffer());
}

Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects,
                                 bool isWhole) {
  TemporaryFile input, output;
  if (Error error = output.create("so"))
    return error;
  if (Error error = writeObjects(objects, input))
    return error;
  std::vector<const char *> arguments = {"ld.lld",
                                         "-shared",
                                         "--build-id=none",
                                         "--hash-style=gnu",
                                         "-s",
                                         "-z",
                                         "noexecstack",
                                         "--threads=1",
                                         "-o",
                                         output.path.c_str(),
                                         "--whole-archive",
                                         input.path.c_str()};
  if (isWhole)
    arguments.push_back("--no-undefined");
  if (Error error = runLld(arguments))
    return error;
  return output.read();
}

} // namespace hocket::cpu
