//===- Target.cpp - Parsers of files that others made ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/fuzz/Target.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace hocket;
namespace fs = std::filesystem;

const std::map<std::string, fuzz::Target> &fuzz::targets() {
  static const std::map<std::string, Target> all = [] {
    std::map<std::string, Target> result;
    addFrontendTargets(result);
    addRuntimeTargets(result);
    addPlanningTargets(result);
    return result;
  }();
  return all;
}

namespace {
/// In memory where the machine has such a file system; gone with the process.
class Scratch {
public:
  Scratch() {
    fs::path root = fs::is_directory("/dev/shm") ? fs::path("/dev/shm")
                                                 : fs::temp_directory_path();
    folder = root / ("hocket-fuzz-" + std::to_string(getpid()));
    fs::remove_all(folder);
    if (const char *beside = std::getenv("HOCKET_FUZZ_FOLDER"))
      fs::copy(beside, folder, fs::copy_options::recursive);
    else
      fs::create_directory(folder);
  }
  ~Scratch() {
    std::error_code ignored;
    fs::remove_all(folder, ignored);
  }

  fs::path folder;
};
} // namespace

std::string fuzz::asFile(const std::string &name, std::string_view bytes) {
  static Scratch scratch;
  fs::path path = scratch.folder / name;
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  require(bool(file), "the scratch file can be written");
  return path.string();
}

void fuzz::require(bool holds, const char *what) {
  if (holds)
    return;
  std::fprintf(stderr, "does not hold: %s\n", what);
  std::abort();
}
