//===- MpiTransport.cpp - Messages through MPI ----------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/mpi/MpiTransport.h"

#include "base/Format.h"
#include "runtime/comm/mpi/MpiTable.h"

#include <algorithm>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>

using namespace hocket;
using namespace hocket::comm;

static constexpr const char *moduleName = "hocket-comm-mpi.so";

/// Where the module may be, best first.
static std::vector<std::string> candidates() {
  if (const char *path = std::getenv("HOCKET_MPI_MODULE"))
    return {path};
  std::error_code error;
  auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  std::vector<std::string> paths;
  for (const char *folder : {".", "../lib", "../../lib"})
    paths.push_back(program.parent_path() / folder / moduleName);
  return paths;
}

std::string comm::findMpiModule() {
  std::error_code error;
  for (const std::string &path : candidates())
    if (std::filesystem::exists(path, error))
      return path;
  return "";
}

static StatusOr<const HocketMpiTable *> loadTable() {
  std::string path = findMpiModule();
  if (path.empty()) {
    std::string tried;
    for (const std::string &candidate : candidates())
      tried += (tried.empty() ? "" : ", ") + candidate;
    return failedPrecondition(
        "a launcher started this process, but the module for MPI is missing "
        "(tried " +
        tried + "); install libopenmpi-dev and build again");
  }
  // MPI loads plug-ins that expect its symbols to be everybody's.
  void *module = ::dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
  if (!module)
    return failedPrecondition(path + ": cannot load: " + ::dlerror());
  auto function = reinterpret_cast<HocketMpiTableFunction>(
      ::dlsym(module, "hocketMpiTable"));
  if (!function || function()->version != hocketMpiTableVersion)
    return failedPrecondition(path + ": is of another version of Hocket");
  return function();
}

namespace {
class MpiTransport : public Transport {
public:
  explicit MpiTransport(const HocketMpiTable &table) : mpi(table) {}

  Status begin();
  unsigned rank() const override { return unsigned(ownRank); }
  unsigned size() const override { return unsigned(worldSize); }
  StatusOr<ChannelId>
  open(const std::vector<std::vector<unsigned>> &lists) override;
  StatusOr<Request> start(const Message &message) override;
  StatusOr<bool> test(Request request) override;
  void close() override { (void)mpi.finish(); }

private:
  /// A message under way, and how many bytes it must have.
  struct Started {
    void *handle = nullptr;
    int bytes = 0;
    bool send = false;
  };

  Status statusOf(const char *call, int code) const {
    if (code == 0)
      return okStatus();
    char text[512] = "";
    mpi.describe(code, text, sizeof(text));
    return unavailable(formatText("%s: %s", call, text));
  }

  const HocketMpiTable &mpi;
  int ownRank = 0, worldSize = 1, largestTag = 0;
};
} // namespace

Status MpiTransport::begin() {
  int threads = 0;
  HOCKET_RETURN_IF_ERROR(statusOf("MPI_Init_thread", mpi.start(&threads)));
  if (!threads)
    return failedPrecondition("this MPI does not let several threads call it "
                              "at once (MPI_THREAD_MULTIPLE)");
  HOCKET_RETURN_IF_ERROR(statusOf("MPI_Comm_rank", mpi.rank(&ownRank)));
  HOCKET_RETURN_IF_ERROR(statusOf("MPI_Comm_size", mpi.size(&worldSize)));
  return statusOf("MPI_Comm_get_attr", mpi.tagLimit(&largestTag));
}

StatusOr<ChannelId>
MpiTransport::open(const std::vector<std::vector<unsigned>> &lists) {
  int color = -1, place = 0, channel = -1;
  for (size_t i = 0; i < lists.size(); ++i) {
    auto own = std::find(lists[i].begin(), lists[i].end(), rank());
    if (own == lists[i].end())
      continue;
    color = int(i);
    place = int(own - lists[i].begin());
  }
  HOCKET_RETURN_IF_ERROR(
      statusOf("MPI_Comm_split", mpi.split(color, place, &channel)));
  return channel;
}

StatusOr<Transport::Request> MpiTransport::start(const Message &message) {
  if (message.tag > uint32_t(largestTag))
    return invalidArgument(formatText("tag %u is beyond what this MPI has, %d",
                                      message.tag, largestTag));
  auto started = std::make_unique<Started>();
  started->bytes = int(message.bytes);
  started->send = message.send;
  int code =
      message.send
          ? mpi.send(message.channel, int(message.peer), message.data,
                     started->bytes, int(message.tag), &started->handle)
          : mpi.receive(message.channel, int(message.peer), message.data,
                        started->bytes, int(message.tag), &started->handle);
  HOCKET_RETURN_IF_ERROR(
      statusOf(message.send ? "MPI_Isend" : "MPI_Irecv", code));
  return Request(started.release());
}

StatusOr<bool> MpiTransport::test(Request request) {
  auto *started = static_cast<Started *>(request);
  int over = 0, bytes = 0;
  Status status =
      statusOf("MPI_Test", mpi.test(started->handle, &over, &bytes));
  if (status.ok() && !over)
    return false;
  std::unique_ptr<Started> ended(started);
  HOCKET_RETURN_IF_ERROR(status);
  if (!ended->send && bytes != ended->bytes)
    return internalError(formatText("received %d bytes where %d were expected",
                                    bytes, ended->bytes));
  return true;
}

StatusOr<std::unique_ptr<Transport>> comm::createMpiTransport() {
  HOCKET_ASSIGN_OR_RETURN(const HocketMpiTable *table, loadTable());
  auto transport = std::make_unique<MpiTransport>(*table);
  HOCKET_RETURN_IF_ERROR(transport->begin());
  return std::unique_ptr<Transport>(std::move(transport));
}
