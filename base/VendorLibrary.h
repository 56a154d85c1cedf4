//===- VendorLibrary.h - Libraries that a machine may have ------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A vendor's shared library, loaded when it is first asked for: Hocket builds
/// and runs without it. An environment variable may name the library to load,
/// which is also how tests put their own in its place. It stays loaded, as not
/// every vendor's library survives being unloaded.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_BASE_VENDORLIBRARY_H
#define HOCKET_BASE_VENDORLIBRARY_H

#include "base/Status.h"

#include <string>
#include <vector>

namespace hocket {

class VendorLibrary {
public:
  struct Request {
    const char *name;                    ///< "NVRTC"
    const char *variable;                ///< "HOCKET_NVRTC"
    std::vector<std::string> candidates; ///< As the loader knows them.
    const char *advice;                  ///< "install the CUDA toolkit"
  };

  /// The library that the environment variable names, else the first of the
  /// candidates that the loader finds. FailedPrecondition if there is none.
  static StatusOr<VendorLibrary> load(const Request &request);

  /// Sets `function` to the symbol. FailedPrecondition if there is none: it is
  /// another library, or too old.
  template <typename T> Status resolve(const char *symbol, T *&function) const {
    void *address = nullptr;
    Status status = find(symbol, address);
    function = reinterpret_cast<T *>(address);
    return status;
  }

  /// Loads `file`, which lies in the folder of this library, so that where the
  /// library itself loads it by its name, the loader finds it: named by its
  /// path, a library brings nothing that lies beside it. Where there is no such
  /// file, or the loader refuses it, the library finds another or says so.
  void loadBeside(const std::string &file) const;

  /// Path or name under which it was loaded.
  const std::string &path() const { return where; }

private:
  VendorLibrary(const Request &request, void *handle, std::string where)
      : name(request.name), variable(request.variable), handle(handle),
        where(std::move(where)) {}
  Status find(const char *symbol, void *&address) const;

  std::string name, variable;
  void *handle;
  std::string where;
};

/// 13.0.2 of 130002 and 2.27.7 of 22707, as NVIDIA's libraries number
/// themselves.
std::string releaseText(size_t number);

/// What was loaded, or why it was not. `loaded` lives as long as the process.
template <typename Api>
StatusOr<const Api *> borrow(const StatusOr<Api> &loaded) {
  if (!loaded.ok())
    return loaded.status();
  return &*loaded;
}

} // namespace hocket

#endif // HOCKET_BASE_VENDORLIBRARY_H
