//===- TemporaryName.cpp - Names of what is not finished yet --------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/TemporaryName.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <random>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace hocket;
namespace fs = std::filesystem;

static constexpr size_t bootDigits = 8, randomDigits = 16;

const std::string &hocket::thisBoot() {
  static const std::string boot = [] {
    std::string text;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> text;
    text.resize(bootDigits, '0');
    return text;
  }();
  return boot;
}

static std::string randomText() {
  std::random_device source; // The kernel's.
  char text[randomDigits + 1];
  std::snprintf(text, sizeof(text), "%08x%08x", source(), source());
  return text;
}

std::string hocket::temporaryName(const std::string &path,
                                  std::string_view ending) {
  size_t start = path.find_last_of('/') + 1; // 0 where there is none.
  // A name has at most 255 bytes.
  std::string name = path.substr(start, 200);
  return path.substr(0, start) + "." + name + "." + thisBoot() + "-" +
         randomText() + std::string(ending);
}

bool hocket::holdTemporary(int descriptor) {
  if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return false;
  struct stat info;
  return ::fstat(descriptor, &info) == 0 && info.st_nlink > 0;
}

/// The boot in a temporary name, or "".
static std::string bootOf(std::string_view name, std::string_view ending) {
  size_t tail = 1 + bootDigits + 1 + randomDigits + ending.size();
  if (!name.starts_with('.') || !name.ends_with(ending) ||
      name.size() < tail + 2)
    return "";
  std::string_view id = name.substr(name.size() - tail, tail - ending.size());
  auto isHex = [](std::string_view text) {
    return text.find_first_not_of("0123456789abcdef") == text.npos;
  };
  std::string_view boot = id.substr(1, bootDigits);
  bool fits = id[0] == '.' && isHex(boot) && id[1 + bootDigits] == '-' &&
              isHex(id.substr(2 + bootDigits));
  return fits ? std::string(boot) : "";
}

/// Whether only this machine's kernel can know the file.
static bool isLocal(int descriptor) {
  // As in linux/magic.h and the sources of ZFS.
  constexpr uint32_t ext4 = 0xef53, xfs = 0x58465342, btrfs = 0x9123683e,
                     tmpfs = 0x01021994, overlay = 0x794c7630,
                     f2fs = 0xf2f52010, zfs = 0x2fc12fc1, bcachefs = 0xca451a4e;
  struct statfs about;
  if (::fstatfs(descriptor, &about) != 0)
    return false;
  for (uint32_t type : {ext4, xfs, btrfs, tmpfs, overlay, f2fs, zfs, bcachefs})
    if (uint32_t(about.f_type) == type)
      return true;
  return false;
}

/// Removes one of them if its process is surely dead.
static void removeIfAbandoned(const fs::path &path, const std::string &boot) {
  struct stat info;
  if (::lstat(path.c_str(), &info) != 0 ||
      !(S_ISREG(info.st_mode) || S_ISDIR(info.st_mode)))
    return;
  int flags = S_ISDIR(info.st_mode) ? O_RDONLY | O_DIRECTORY : O_RDWR;
  int descriptor =
      ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (descriptor < 0)
    return;
  std::error_code ignored;
  if ((boot == thisBoot() || isLocal(descriptor)) &&
      ::flock(descriptor, LOCK_EX | LOCK_NB) == 0)
    fs::remove_all(path, ignored);
  ::close(descriptor);
}

void hocket::removeAbandoned(const std::string &path, std::string_view ending) {
  fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  fs::directory_iterator entry(folder.empty() ? "." : folder, error);
  // Found first: a folder must not change while it is read.
  std::vector<std::pair<fs::path, std::string>> found;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error))
    if (std::string boot = bootOf(entry->path().filename().string(), ending);
        !boot.empty())
      found.emplace_back(entry->path(), std::move(boot));
  for (const auto &[name, boot] : found)
    removeIfAbandoned(name, boot);
}
