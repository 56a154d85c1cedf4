//===- EventFile.cpp - What a run reports, for TensorBoard ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/telemetry/EventFile.h"

#include "base/File.h"
#include "runtime/telemetry/tensorboard.pb.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <chrono>
#include <filesystem>
#include <unistd.h>

using namespace hocket;

static_assert(std::endian::native == std::endian::little);

/// What names of such files begin with: TensorBoard goes by "tfevents".
static constexpr std::string_view filePrefix = "events.out.tfevents.";

/// By the processor's instruction, which is older than AVX2.
[[gnu::target("sse4.2")]] static uint32_t crc32c(std::string_view bytes) {
  uint32_t sum = ~0U;
  for (char byte : bytes)
    sum = __builtin_ia32_crc32qi(sum, static_cast<unsigned char>(byte));
  return ~sum;
}

/// So that the sum of a record that holds sums is not constant.
static uint32_t masked(uint32_t sum) { return std::rotr(sum, 15) + 0xa282ead8; }

template <class T> static void appendBytes(std::string &to, T number) {
  to.append(reinterpret_cast<const char *>(&number), sizeof(number));
}

static std::string recordOf(std::string_view message) {
  std::string record;
  appendBytes(record, uint64_t(message.size()));
  appendBytes(record, masked(crc32c(record)));
  record += message;
  appendBytes(record, masked(crc32c(message)));
  return record;
}

static double secondsNow() {
  auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

static std::string hostName() {
  char name[256] = {};
  if (::gethostname(name, sizeof(name) - 1) != 0 || name[0] == '\0')
    return "host";
  return name;
}

StatusOr<EventFile> EventFile::create(const std::string &folder,
                                      std::optional<uint64_t> again) {
  HOCKET_RETURN_IF_ERROR(makeDirectories(folder));
  // Runs of one process have a file each, also within a second.
  std::string begin = folder + "/" + std::string(filePrefix) +
                      std::to_string(uint64_t(secondsNow())) + "." +
                      hostName() + "." + std::to_string(::getpid()) + ".";
  constexpr int mostRuns = 1000;
  StatusOr<AppendedFile> file = unavailable(folder);
  for (int run = 0; run < mostRuns && !file.ok(); ++run) {
    std::string path = begin + std::to_string(run);
    file = AppendedFile::open(path, AppendedFile::Use::New, "events");
    if (!file.ok() && ::access(path.c_str(), F_OK) != 0)
      break; // It is not for the name.
  }
  HOCKET_RETURN_IF_ERROR(file.status());
  EventFile events(*std::move(file));
  tensorboard::Event version;
  version.set_file_version("brain.Event:2");
  HOCKET_RETURN_IF_ERROR(events.append(version));
  if (again) {
    tensorboard::Event start;
    start.set_step(int64_t(*again));
    start.mutable_session_log()->set_status(tensorboard::SessionLog::START);
    HOCKET_RETURN_IF_ERROR(events.append(start));
  }
  return events;
}

Status EventFile::append(tensorboard::Event event) {
  event.set_wall_time(secondsNow());
  return file.append(recordOf(event.SerializeAsString()));
}

Status EventFile::write(uint64_t step, const Scalars &scalars) {
  tensorboard::Event event;
  event.set_step(int64_t(step));
  for (auto [tag, number] : scalars) {
    auto *value = event.mutable_summary()->add_value();
    value->set_tag(tag);
    value->set_simple_value(float(number));
  }
  return append(std::move(event));
}

std::vector<std::string> hocket::eventFilesIn(const std::string &folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  std::filesystem::directory_iterator entry(folder, ignored), end;
  for (; entry != end; entry.increment(ignored))
    if (entry->path().filename().string().starts_with(filePrefix))
      files.push_back(entry->path().string());
  std::ranges::sort(files);
  return files;
}

Status hocket::removeEventFiles(const std::string &folder) {
  for (const std::string &file : eventFilesIn(folder))
    if (::unlink(file.c_str()) != 0)
      return fileError(file, "delete events of another run", errno);
  return okStatus();
}
