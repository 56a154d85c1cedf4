//===- IterationFiles.cpp - What of a folder is a checkpoint's ------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint/IterationFiles.h"

#include "base/File.h"
#include "runtime/checkpoint/Checkpoint.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

using namespace hocket;
using namespace hocket::checkpoint;
namespace fs = std::filesystem;

static constexpr std::string_view manifestName = "manifest.json";

/// Takes five or more digits from the front.
static bool takeNumber(std::string_view &text) {
  size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  text.remove_prefix(digits);
  return digits >= 5;
}

static bool takeWord(std::string_view &text, std::string_view word) {
  if (!text.starts_with(word))
    return false;
  text.remove_prefix(word.size());
  return true;
}

bool checkpoint::isIterationFile(std::string_view name) {
  if (name == manifestName)
    return true;
  if (!takeWord(name, "model") && !takeWord(name, "optimizer"))
    return false;
  if (takeWord(name, "-") &&
      !(takeNumber(name) && takeWord(name, "-of-") && takeNumber(name)))
    return false;
  return name == ".safetensors";
}

std::optional<uint64_t> checkpoint::stepOfFolder(std::string_view name) {
  std::string_view digits = name;
  uint64_t step = 0;
  if (!takeWord(digits, "iter_"))
    return std::nullopt;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() ||
      iterationFolder("", step).substr(1) != name)
    return std::nullopt;
  return step;
}

std::vector<uint64_t> checkpoint::iterationsIn(const std::string &dir) {
  std::vector<uint64_t> steps;
  std::error_code error, ignored;
  for (fs::directory_iterator at(dir, error), end; !error && at != end;
       at.increment(error)) {
    std::optional<uint64_t> step = stepOfFolder(at->path().filename().string());
    if (step && fs::is_directory(at->symlink_status(ignored)) &&
        fs::exists(at->path() / manifestName, ignored))
      steps.push_back(*step);
  }
  std::sort(steps.begin(), steps.end());
  return steps;
}

Status checkpoint::expectNoIterations(const std::string &dir) {
  std::vector<uint64_t> held = iterationsIn(dir);
  return held.empty() ? okStatus()
                      : invalidArgument(dir + ": holds iteration " +
                                        std::to_string(held.back()) +
                                        " already; name a folder without any");
}

Status checkpoint::removeIteration(const std::string &dir, uint64_t step) {
  fs::path folder = iterationFolder(dir, step);
  std::vector<fs::path> ours;
  std::error_code error, ignored;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    std::string name = at->path().filename().string();
    bool isDirectory = fs::is_directory(at->symlink_status(ignored));
    if (name != manifestName && isIterationFile(name) && !isDirectory)
      ours.push_back(at->path());
  }
  ours.push_back(folder / manifestName);
  for (const fs::path &path : ours)
    if (!error)
      fs::remove(path, error);
  if (error)
    return unavailable(folder.string() +
                       ": cannot delete: " + errnoMessage(error.value()));
  fs::remove(folder, ignored); // Not where files of others are in it.
  return okStatus();
}
