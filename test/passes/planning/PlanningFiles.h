//===- PlanningFiles.h - Problem instances that are files -------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The instances in test/planning, for tests that run every algorithm on each.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_PASSES_PLANNING_PLANNINGFILES_H
#define HOCKET_TEST_PASSES_PLANNING_PLANNINGFILES_H

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace hocket::planning {

struct PlanningFile {
  std::string name; ///< Without its folder.
  std::string text;
};

/// The files of test/planning/`folder` that end in `suffix`, by name.
inline std::vector<PlanningFile> planningFiles(const std::string &folder,
                                               const std::string &suffix) {
  std::vector<PlanningFile> files;
  std::filesystem::path root(HOCKET_SOURCE_DIR);
  for (const auto &entry :
       std::filesystem::directory_iterator(root / "test/planning" / folder))
    if (entry.path().extension() == suffix) {
      std::ifstream stream(entry.path());
      files.push_back({entry.path().filename(),
                       {std::istreambuf_iterator<char>(stream), {}}});
    }
  std::sort(files.begin(), files.end(),
            [](const auto &a, const auto &b) { return a.name < b.name; });
  return files;
}

/// The text of one of them.
inline std::string planningFile(const std::string &folder,
                                const std::string &name) {
  for (PlanningFile &file :
       planningFiles(folder, "." + name.substr(name.find('.') + 1)))
    if (file.name == name)
      return std::move(file.text);
  return {};
}

} // namespace hocket::planning

#endif // HOCKET_TEST_PASSES_PLANNING_PLANNINGFILES_H
