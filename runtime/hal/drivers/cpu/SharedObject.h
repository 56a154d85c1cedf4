//===- SharedObject.h - Native code loaded from memory ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H

#include "base/Status.h"

#include <memory>
#include <string>
#include <string_view>

namespace hocket::hal {

/// An ELF shared object that came as bytes; unloaded when destroyed. The bytes
/// go to an anonymous file (memfd_create), nothing is written to disk.
class SharedObject {
public:
  /// DataLoss if the loader refuses the image, with the loader's reason.
  static StatusOr<SharedObject> load(const std::string &name,
                                     std::string_view image);

  /// The address of `symbol`, or null.
  void *find(const std::string &symbol) const;

private:
  /// The descriptor stays open as long as the object is loaded: the loader
  /// knows objects by path, and takes one of the same path for the same.
  struct Unload {
    int descriptor = -1;
    void operator()(void *handle) const;
  };
  SharedObject(void *handle, int descriptor) : handle(handle, {descriptor}) {}

  std::unique_ptr<void, Unload> handle;
};

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H
