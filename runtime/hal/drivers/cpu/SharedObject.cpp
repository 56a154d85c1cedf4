//===- SharedObject.cpp - Native code loaded from memory ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/hal/drivers/cpu/SharedObject.h"

#include "base/File.h"

#include <cerrno>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace hocket;
using namespace hocket::hal;

void SharedObject::Unload::operator()(void *handle) const {
  ::dlclose(handle);
  ::close(descriptor);
}

static Status writeAll(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    ssize_t put = ::write(descriptor, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR)
      continue;
    if (put < 0)
      return resourceExhausted("cannot hold native code in memory: " +
                               errnoMessage(errno));
    bytes.remove_prefix(size_t(put));
  }
  return okStatus();
}

StatusOr<SharedObject> SharedObject::load(const std::string &name,
                                          std::string_view image) {
  int descriptor = ::memfd_create(name.c_str(), MFD_CLOEXEC);
  if (descriptor < 0)
    return resourceExhausted("cannot hold native code in memory: " +
                             errnoMessage(errno));
  Status written = writeAll(descriptor, image);
  void *handle = nullptr;
  std::string reason;
  if (written.ok()) {
    std::string path = "/proc/self/fd/" + std::to_string(descriptor);
    handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (const char *error = handle ? nullptr : ::dlerror())
      reason = error;
  }
  if (handle)
    return SharedObject(handle, descriptor);
  ::close(descriptor);
  HOCKET_RETURN_IF_ERROR(written);
  return dataLoss("module '" + name + "' cannot be loaded: " + reason);
}

void *SharedObject::find(const std::string &symbol) const {
  return ::dlsym(handle.get(), symbol.c_str());
}
