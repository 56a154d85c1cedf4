//===- Plain.h - Precompiled for sources without MLIR -----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the sources of libraries that know no MLIR read most often. See
/// HocketPrecompiled.cmake; no source includes this file.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAIN_H
#define HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAIN_H

#include <google/protobuf/message.h>
#include <google/protobuf/text_format.h>
#include <nlohmann/json.hpp>
#include <simdjson.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#endif // HOCKET_COMPILER_CMAKE_PRECOMPILED_PLAIN_H
