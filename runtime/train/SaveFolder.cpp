//===- SaveFolder.cpp - The folder of a run's checkpoints -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/SaveFolder.h"

#include "base/File.h"
#include "base/Format.h"
#include "runtime/checkpoint/Checkpoint.h"
#include "runtime/checkpoint/IterationFiles.h"
#include "runtime/train/step/RankAgreement.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <unistd.h>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;

//===----------------------------------------------------------------------===//
// Writing there
//===----------------------------------------------------------------------===//

Status hocket::probeFolder(const std::string &dir) {
  std::string path = dir + "/.probe-XXXXXX";
  int descriptor = ::mkstemp(path.data());
  int error = descriptor < 0 ? errno : 0;
  if (descriptor >= 0) {
    std::array<char, 4096> page = {};
    if (::write(descriptor, page.data(), page.size()) < 0 ||
        ::fsync(descriptor) != 0)
      error = errno;
    ::close(descriptor);
    ::unlink(path.c_str());
  }
  return error ? fileError(dir, "write checkpoints here", error) : okStatus();
}

/// `path` and the folders around it that do not exist, outermost first.
static std::vector<std::string> missingFolders(const std::string &path) {
  std::vector<std::string> missing;
  std::error_code ignored;
  for (fs::path at = fs::path(path).lexically_normal();
       !at.empty() && !fs::exists(at, ignored); at = at.parent_path())
    if (at.has_filename())
      missing.push_back(at.string());
  std::reverse(missing.begin(), missing.end());
  return missing;
}

Status SaveFolder::lock() {
  std::error_code ignored;
  if (fs::exists(request.dir + "/manifest.json", ignored))
    return invalidArgument(request.dir +
                           ": is itself a checkpoint; save in the folder "
                           "around it");
  madeFolders = missingFolders(request.dir);
  HOCKET_RETURN_IF_ERROR(makeDirectories(request.dir));
  HOCKET_RETURN_IF_ERROR(probeFolder(request.dir));
  HOCKET_ASSIGN_OR_RETURN(FolderLock taken, FolderLock::take(request.dir));
  held = std::make_unique<FolderLock>(std::move(taken));
  if (!held->isHeld())
    lines.push_back(request.dir +
                    ": its file system has no locks; nothing keeps a second "
                    "run from saving there");
  return okStatus();
}

SaveFolder::~SaveFolder() {
  held.reset();
  for (size_t i = madeFolders.size(); i-- > 0;)
    if (::rmdir(madeFolders[i].c_str()) != 0)
      break;
}

//===----------------------------------------------------------------------===//
// What it holds
//===----------------------------------------------------------------------===//

/// The step that the run goes on from, if it is one of this folder.
std::optional<uint64_t> SaveFolder::stepLoadedFromHere(uint64_t latest) const {
  if (resumed || request.loadDir.empty())
    return resumed;
  std::error_code ignored;
  fs::path from = fs::path(request.loadDir + "/").lexically_normal();
  if (fs::equivalent(from, request.dir, ignored))
    return latest;
  from = from.parent_path(); // The slash.
  if (!fs::equivalent(from / "..", request.dir, ignored))
    return std::nullopt;
  return stepOfFolder(from.filename().string());
}

Status SaveFolder::admit() {
  std::vector<uint64_t> steps = iterationsIn(request.dir);
  StatusOr<uint64_t> latest = latestIteration(request.dir);
  bool hasLatest = latest.status().code() != StatusCode::NotFound;
  if (!hasLatest && steps.empty())
    return okStatus();
  if (hasLatest && !latest.ok() && !request.overwrite)
    return latest.status();
  uint64_t holds = latest.ok() ? *latest : steps.empty() ? 0 : steps.back();
  // A run that was killed before its first checkpoint became the latest.
  std::string newest = latest.ok() || steps.empty()
                           ? request.dir
                           : iterationFolder(request.dir, holds);
  if (request.resume && (latest.ok() || !steps.empty()))
    resumed = holds;
  std::optional<uint64_t> from = stepLoadedFromHere(holds);
  if (from && *from >= holds)
    return okStatus();
  auto number = [](uint64_t step) { return (unsigned long long)step; };
  const char *dir = request.dir.c_str();
  if (!request.overwrite && from)
    return invalidArgument(formatText(
        "%s holds step %llu, and --load %s goes back to step %llu; save in "
        "another folder, or replace the later steps with --overwrite",
        dir, number(holds), request.loadDir.c_str(), number(*from)));
  if (!request.overwrite)
    return invalidArgument(formatText("%s holds step %llu; go on with --load "
                                      "%s, or start over with --overwrite",
                                      dir, number(holds), newest.c_str()));
  for (uint64_t step : steps)
    if (!from || step > *from)
      stale.push_back(step);
  if (!stale.empty())
    lines.push_back(formatText(
        "%s holds step %llu; --overwrite: %s deleted once this run has saved",
        dir, number(holds),
        stale.size() == 1
            ? "that checkpoint is"
            : formatText("%zu checkpoints are", stale.size()).c_str()));
  return okStatus();
}

StatusOr<std::unique_ptr<SaveFolder>> SaveFolder::claim(SaveRequest request) {
  std::unique_ptr<SaveFolder> folder(new SaveFolder(std::move(request)));
  HOCKET_RETURN_IF_ERROR(folder->lock());
  HOCKET_RETURN_IF_ERROR(folder->admit());
  return folder;
}

//===----------------------------------------------------------------------===//
// What stays
//===----------------------------------------------------------------------===//

Status SaveFolder::saved(uint64_t step) {
  std::vector<uint64_t> doomed = std::exchange(stale, {});
  std::erase(doomed, step);
  if (request.keep > 0) {
    std::vector<uint64_t> steps = iterationsIn(request.dir);
    // Later ones are what a save left that did not come to be the latest.
    std::erase_if(steps, [&](uint64_t other) {
      return other > step ||
             std::count(doomed.begin(), doomed.end(), other) > 0;
    });
    if (steps.size() > request.keep)
      doomed.insert(doomed.end(), steps.begin(),
                    steps.end() - ptrdiff_t(request.keep));
  }
  Status first;
  for (uint64_t old : doomed)
    if (Status status = removeIteration(request.dir, old); first.ok())
      first = status;
  return first;
}

//===----------------------------------------------------------------------===//
// With several ranks
//===----------------------------------------------------------------------===//

StatusOr<ClaimedFolder> hocket::claimTogether(comm::Communicator &world,
                                              SaveRequest request) {
  ClaimedFolder claimed;
  std::string dir = request.dir;
  Status status;
  if (world.rank() == 0) {
    auto own = SaveFolder::claim(std::move(request));
    status = own.status();
    if (own.ok())
      claimed.folder = *std::move(own);
  }
  HOCKET_RETURN_IF_ERROR(agree(world, status));
  if (world.rank() > 0)
    status = probeFolder(dir);
  HOCKET_RETURN_IF_ERROR(agree(world, status));
  // Whether there is a step, and the step in two words.
  std::array<int32_t, 3> words = {};
  if (claimed.folder)
    claimed.resumedStep = claimed.folder->resumedStep();
  uint64_t step = claimed.resumedStep.value_or(0);
  words[0] = claimed.resumedStep.has_value();
  std::memcpy(&words[1], &step, sizeof(step));
  HOCKET_RETURN_IF_ERROR(
      world.broadcast(words.data(), words.size(), comm::DType::I32, 0));
  std::memcpy(&step, &words[1], sizeof(step));
  if (words[0])
    claimed.resumedStep = step;
  return claimed;
}
