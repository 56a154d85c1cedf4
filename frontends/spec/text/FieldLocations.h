//===- FieldLocations.h - Where each field was written ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A spec comes from a file, from `--plan` and from `--set`. This table keeps,
/// by field path ("model.heads", "plan.layers_per_stage[0]"), the place that
/// gave the field its value, so that an error found much later, even in a
/// lowered program, can still point at it.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_SPEC_TEXT_FIELDLOCATIONS_H
#define HOCKET_FRONTENDS_SPEC_TEXT_FIELDLOCATIONS_H

#include <map>
#include <string>
#include <string_view>

namespace hocket::spec {

/// A place in an input. Lines and columns count from 1, columns in bytes. An
/// override has no line: `file` is then "--set PATH=VALUE" itself.
struct SourcePlace {
  std::string file;
  int line = 0;
  int column = 0;

  /// `file:line:column`, or `file` alone where there is no line.
  std::string str() const;
};

class FieldLocations {
public:
  /// `file` is where a field without a place of its own is looked for.
  explicit FieldLocations(std::string file = "")
      : root{std::move(file), 0, 0} {}

  /// Records that `path` was written at `place`; the last writer wins.
  void set(const std::string &path, SourcePlace place);

  /// Records it unless `path` has a place already.
  void setIfAbsent(const std::string &path, const SourcePlace &place);

  /// The place of `path` or, where it was left out, of the nearest message
  /// around it that was written, or else of the file.
  const SourcePlace &find(std::string_view path) const;

private:
  std::map<std::string, SourcePlace, std::less<>> places;
  SourcePlace root;
};

} // namespace hocket::spec

#endif // HOCKET_FRONTENDS_SPEC_TEXT_FIELDLOCATIONS_H
