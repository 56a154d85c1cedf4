//===- SharedObject.h - Native code loaded from memory ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H
#define HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H

#include "runtime/base/Status.h"

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
  struct Unload {
    void operator()(void *handle) const;
  };
  explicit SharedObject(void *handle) : handle(handle) {}

  std::unique_ptr<void, Unload> handle;
};

} // namespace hocket::hal

#endif // HOCKET_RUNTIME_HAL_DRIVERS_CPU_SHAREDOBJECT_H
