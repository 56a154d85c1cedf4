//===- SharedObject.cpp - Object files to one shared object ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/targets/cpu/SharedObject.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Program.h"

using llvm::createStringError;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

namespace hocket::cpu {

Expected<std::string> findLinker(StringRef requested) {
  if (!requested.empty()) {
    if (llvm::sys::fs::can_execute(requested))
      return requested.str();
    return createStringError("linker '" + requested + "' cannot be executed");
  }
  StringRef configured = HOCKET_LD_LLD;
  if (!configured.empty() && llvm::sys::fs::can_execute(configured))
    return configured.str();
  for (StringRef name : {"ld.lld-19", "ld.lld"})
    if (auto found = llvm::sys::findProgramByName(name))
      return *found;
  return createStringError("found neither ld.lld-19 nor ld.lld; install the "
                           "Debian package lld-19");
}

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

Expected<std::string> linkShared(llvm::ArrayRef<std::string> objects,
                                 StringRef linker) {
  std::vector<TemporaryFile> inputs(objects.size());
  TemporaryFile output, messages;
  if (Error error = output.create("so"))
    return error;
  if (Error error = messages.create("txt"))
    return error;
  std::vector<StringRef> arguments = {linker,
                                      "-shared",
                                      "--no-undefined",
                                      "--build-id=none",
                                      "--hash-style=gnu",
                                      "-s",
                                      "-z",
                                      "noexecstack",
                                      "-o",
                                      output.path};
  for (size_t i = 0; i < objects.size(); ++i) {
    if (Error error = inputs[i].create("o"))
      return error;
    if (Error error = inputs[i].write(objects[i]))
      return error;
    arguments.push_back(inputs[i].path);
  }
  std::string problem;
  std::optional<StringRef> redirects[] = {StringRef(), messages.path.str(),
                                          messages.path.str()};
  int status = llvm::sys::ExecuteAndWait(linker, arguments, std::nullopt,
                                         redirects, /*SecondsToWait=*/60,
                                         /*MemoryLimit=*/0, &problem);
  if (status != 0) {
    Expected<std::string> said = messages.read();
    if (!said)
      llvm::consumeError(said.takeError());
    return createStringError("'" + linker + "' failed: " + problem +
                             (said ? *said : std::string()));
  }
  return output.read();
}

} // namespace hocket::cpu
