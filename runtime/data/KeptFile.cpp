//===- KeptFile.cpp - Large tables that are made once ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/data/KeptFile.h"

#include "base/CacheFolder.h"
#include "base/CacheSize.h"
#include "base/Format.h"
#include "base/Sha256.h"

#include <chrono>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/file.h>
#include <unistd.h>
#include <vector>

using namespace hocket;
using namespace hocket::data;

namespace {

/// A folder that nobody else writes tables to, until this is destroyed. None
/// where the file system has no locks: then two processes may make one file,
/// each whole.
class FolderTurn {
public:
  explicit FolderTurn(const std::string &path) {
    std::string folder = std::filesystem::path(path).parent_path().string();
    descriptor = ::open(folder.empty() ? "." : folder.c_str(),
                        O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  FolderTurn(const FolderTurn &) = delete;
  FolderTurn &operator=(const FolderTurn &) = delete;
  ~FolderTurn() {
    if (descriptor >= 0)
      ::close(descriptor);
  }

  /// Whether it is this process's turn at once.
  bool isFree() const {
    return descriptor < 0 || ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 ||
           errno != EWOULDBLOCK;
  }
  void wait() const {
    while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR)
      ;
  }

private:
  int descriptor;
};

/// Where the file may be.
struct Place {
  std::string path;
  std::string cache = {}; ///< The folder, if it is the cache's.
};

} // namespace

/// The best first.
static std::vector<Place> placesOf(const KeptTable &table) {
  auto name = [&](const std::string &before, const std::string &text) {
    return before + "." + toHex(Sha256::of(text)).substr(0, 12) + "." +
           table.kind;
  };
  std::vector<Place> places = {{name(table.prefix, table.request)}};
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(table.prefix, error);
  if (auto folder = openCacheFolder(); folder.ok() && !error)
    places.push_back({name(*folder + "/" + whole.filename().string(),
                           whole.string() + "\n" + table.request),
                      *folder});
  return places;
}

static Sha256::Digest identityOf(const KeptTable &table) {
  return Sha256::of("hocket " + table.kind + " 1\n" + table.request +
                    table.contents);
}

static StatusOr<PagedFile>
openPlace(const KeptTable &table, const Place &place,
          const std::function<Status(const PagedFile &)> &check) {
  HOCKET_ASSIGN_OR_RETURN(PagedFile file, PagedFile::open(place.path));
  if (!place.cache.empty())
    file.useAsCached();
  Sha256::Digest digest = {};
  HOCKET_RETURN_IF_ERROR(file.read(0, digest.data(), digest.size()));
  if (digest != identityOf(table))
    return dataLoss(place.path + ": it is of other data");
  HOCKET_RETURN_IF_ERROR(check(file));
  return file;
}

static Status
writePlace(const KeptTable &table, const Place &place,
           const std::function<Status(PagedFileWriter &)> &write) {
  HOCKET_ASSIGN_OR_RETURN(PagedFileWriter file,
                          PagedFileWriter::create(place.path));
  Sha256::Digest digest = identityOf(table);
  HOCKET_RETURN_IF_ERROR(file.append(digest.data(), digest.size()));
  HOCKET_RETURN_IF_ERROR(write(file));
  return file.commit();
}

StatusOr<PagedFile>
data::openKept(const KeptTable &table, const OrderCache &cache,
               const std::function<Status(const PagedFile &)> &check,
               const std::function<Status(PagedFileWriter &)> &write) {
  static_assert(keptHeaderBytes == sizeof(Sha256::Digest));
  auto note = [&](const std::string &line) {
    if (cache.note)
      cache.note(line);
  };
  // 1. One that was made.
  std::vector<Place> places = placesOf(table);
  auto find = [&]() -> std::optional<PagedFile> {
    for (const Place &place : places)
      if (auto file = openPlace(table, place, check); file.ok())
        return *std::move(file);
    return std::nullopt;
  };
  if (auto file = find())
    return *std::move(file);
  // 2. One that another process is making.
  FolderTurn turn(places.front().path);
  if (!turn.isFree()) {
    note("waiting for the process that makes the " + table.what + " of " +
         table.prefix);
    turn.wait();
    if (auto file = find())
      return *std::move(file);
  }
  // 3. A new one.
  note("making the " + table.what + " of " + table.prefix + ", " +
       formatBytes(table.bytes) + ", once for all runs");
  auto start = std::chrono::steady_clock::now();
  Status written = okStatus();
  for (const Place &place : places) {
    written = writePlace(table, place, write);
    if (!written.ok())
      continue;
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    note("made " + place.path + formatText(" in %.1f s", seconds.count()));
    auto made = openPlace(table, place, check);
    if (made.ok() && !place.cache.empty())
      cacheHasGrown(place.cache, made->size());
    return made;
  }
  note("the " + table.what + " stays in memory: " + written.message());
  return written;
}
