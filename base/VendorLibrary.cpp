//===- VendorLibrary.cpp - Libraries that a machine may have --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/VendorLibrary.h"

#include <cstdlib>
#include <dlfcn.h>
#include <link.h>

using namespace hocket;

StatusOr<VendorLibrary> VendorLibrary::load(const Request &request) {
  std::vector<std::string> candidates = request.candidates;
  if (const char *path = std::getenv(request.variable); path && *path)
    candidates = {path};
  std::string reason;
  for (const std::string &candidate : candidates) {
    if (void *handle = ::dlopen(candidate.c_str(), RTLD_NOW | RTLD_LOCAL))
      return VendorLibrary(request, handle, candidate);
    if (const char *error = ::dlerror(); error && reason.empty())
      reason = error;
  }
  return failedPrecondition("there is no " + std::string(request.name) +
                            " on this machine (" + reason + "); " +
                            request.advice + ", or set " + request.variable +
                            " to the path of the library");
}

void VendorLibrary::loadBeside(const std::string &file) const {
  link_map *map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, static_cast<void *>(&map)) != 0 || !map)
    return;
  std::string whole = map->l_name;
  if (size_t slash = whole.rfind('/'); slash != std::string::npos)
    ::dlopen((whole.substr(0, slash + 1) + file).c_str(),
             RTLD_NOW | RTLD_LOCAL);
}

Status VendorLibrary::find(const char *symbol, void *&address) const {
  address = ::dlsym(handle, symbol);
  return address ? okStatus()
                 : failedPrecondition(where + " is no " + name +
                                      " that Hocket can use: it has no " +
                                      symbol + "; set " + variable +
                                      " to the path of another");
}

std::string hocket::releaseText(size_t number) {
  return std::to_string(number / 10000) + "." +
         std::to_string(number / 100 % 100) + "." +
         std::to_string(number % 100);
}
