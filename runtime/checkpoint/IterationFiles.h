//===- IterationFiles.h - What of a folder is a checkpoint's ----*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A checkpoint folder may hold files of others, and so may its iterations.
/// Whatever deletes or replaces an iteration asks here what it may touch.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_CHECKPOINT_ITERATIONFILES_H
#define HOCKET_RUNTIME_CHECKPOINT_ITERATIONFILES_H

#include "base/Status.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::checkpoint {

/// Whether a save writes files of this name into an iteration's folder:
/// manifest.json, model.safetensors, optimizer-00001-of-00008.safetensors.
bool isIterationFile(std::string_view name);

/// 100 for "iter_0000100", as iterationFolder() names it; nothing for others.
std::optional<uint64_t> stepOfFolder(std::string_view name);

/// The steps of the complete iterations in `dir`, ascending: real folders that
/// hold a manifest. None if there is no such folder.
std::vector<uint64_t> iterationsIn(const std::string &dir);

/// InvalidArgument if there is one already.
Status expectNoIterations(const std::string &dir);

/// Deletes the checkpoint's files in DIR/iter_<step>, the manifest last, and
/// the folder if nothing else is in it.
Status removeIteration(const std::string &dir, uint64_t step);

} // namespace hocket::checkpoint

#endif // HOCKET_RUNTIME_CHECKPOINT_ITERATIONFILES_H
