//===- ToolkitLibraries.cpp - Which release of a library ------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/ToolkitLibraries.h"

#include "base/VendorLibrary.h"
#include "runtime/cuda/DriverApi.h"

#include <algorithm>
#include <climits>
#include <utility>

using namespace hocket;
using namespace hocket::hal::cuda;

/// The CUDA version of this machine's driver, which need not find a GPU;
/// the greatest number where there is no driver.
static int driverMajor() {
  StatusOr<VendorLibrary> driver = loadDriver();
  CUresult (*version)(int *) = nullptr;
  int number = 0;
  if (!driver.ok() || !driver->resolve("cuDriverGetVersion", version).ok() ||
      version(&number) != CUDA_SUCCESS)
    return INT_MAX;
  return number / 1000;
}

std::vector<std::string> hal::cuda::toolkitLibraries(const std::string &name) {
  std::vector<int> majors = {13, 12};
  std::ranges::sort(majors, {}, [driver = driverMajor()](int major) {
    return std::pair(major > driver, -major);
  });
  std::vector<std::string> names;
  for (int major : majors)
    names.push_back(name + ".so." + std::to_string(major));
  return names;
}
