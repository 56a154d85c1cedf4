//===- LogFile.cpp - The log of an earlier run ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/LogFile.h"

#include "runtime/telemetry/EventFile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/stat.h>

using namespace hocket;

/// No line of a log is nearly as long.
static constexpr std::streamoff longestLine = 1 << 16;

/// The step that a line of a log is about.
static std::optional<uint64_t> stepOfLine(const std::string &line) {
  auto object = nlohmann::json::parse(line, nullptr, false);
  if (!object.is_object() || !object.contains("step") ||
      !object["step"].is_number_unsigned())
    return std::nullopt;
  return object["step"].get<uint64_t>();
}

/// Of `bytes` from `offset` on.
static std::string textAt(std::ifstream &file, std::streamoff offset) {
  std::string text(size_t(longestLine), '\0');
  file.clear();
  file.seekg(offset);
  file.read(text.data(), std::streamsize(text.size()));
  text.resize(size_t(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

/// The step of the last line that is complete.
static std::optional<uint64_t> lastStep(const std::string &text) {
  size_t end = text.rfind('\n');
  if (end == std::string::npos || end == 0)
    return std::nullopt;
  size_t before = text.rfind('\n', end - 1);
  size_t begin = before == std::string::npos ? 0 : before + 1;
  return stepOfLine(text.substr(begin, end - begin));
}

Status hocket::checkLogFile(const std::string &path, LogUse use) {
  struct stat info;
  if (::stat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode) ||
      info.st_size == 0)
    return okStatus();
  std::ifstream file(path, std::ios::binary);
  std::string front = textAt(file, 0);
  if (!stepOfLine(front.substr(0, front.find('\n'))))
    return invalidArgument(path + ": is not the log of a run; it is left as it "
                                  "is, give --log another file");
  if (use != LogUse::New)
    return okStatus();
  std::optional<uint64_t> last = lastStep(
      textAt(file, std::max<std::streamoff>(info.st_size - longestLine, 0)));
  return invalidArgument(
      path + ": holds the log of another run" +
      (last ? ", to step " + std::to_string(*last) : "") +
      "; go on with that run (--load), give --log another file, or start over "
      "with --overwrite");
}

Status hocket::checkEventsFolder(const std::string &folder, LogUse use) {
  std::error_code ignored;
  if (std::filesystem::exists(folder, ignored) &&
      !std::filesystem::is_directory(folder, ignored))
    return invalidArgument(folder + ": is no folder; give --tensorboard-dir "
                                    "one, or the name of one to make");
  if (use != LogUse::New || eventFilesIn(folder).empty())
    return okStatus();
  return invalidArgument(
      folder + ": holds the events of another run; go on with that run "
               "(--load), give --tensorboard-dir another folder, or start over "
               "with --overwrite");
}
