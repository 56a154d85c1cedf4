//===- ConfigJson.h - The values of a config.json ---------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A `config.json` as a flat table of values with their places. The file is
/// hostile until read: size, nesting, encoding, number ranges and duplicate
/// keys are checked here; docs/spec.md numbers the constraints (H1, H2, ...).
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_FRONTENDS_HUGGINGFACE_CONFIGJSON_H
#define HOCKET_FRONTENDS_HUGGINGFACE_CONFIGJSON_H

#include "base/Status.h"
#include "frontends/spec/text/FieldLocations.h"

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace hocket::huggingface {

/// A list of strings (an empty list too), of whole numbers, or of numbers of
/// which some are not whole; lists of anything else are kept as Other.
using StringList = std::vector<std::string>;
using IntegerList = std::vector<int64_t>;
using RealList = std::vector<double>;
/// A value that no key we read may have: a list or an object.
struct Other {};

struct ConfigValue {
  /// monostate is `null`. Whole numbers beyond int64_t are doubles.
  std::variant<std::monostate, bool, int64_t, double, std::string, StringList,
               IntegerList, RealList, Other>
      value;
  spec::SourcePlace place; ///< Of the key.

  /// Whether it is this number, written as a whole one or not.
  bool isNumber(int64_t number) const {
    const auto *whole = std::get_if<int64_t>(&value);
    const auto *real = std::get_if<double>(&value);
    return whole ? *whole == number
                 : real && *real == static_cast<double>(number);
  }
};

class ConfigJson {
public:
  /// Reads `text`; `file` names it in errors (DataLoss or InvalidArgument).
  /// Beyond JSON, a number may be infinite, as transformers writes it.
  static StatusOr<ConfigJson> parse(const std::string &text,
                                    const std::string &file);

  /// The value of `key` or, one or two levels down, of "outer.inner"; null
  /// where it is absent or JSON's null.
  const ConfigValue *find(const std::string &key) const;

  /// The object `outer` as a config of its own; an empty one where it is
  /// absent. What it lacks has the place of `outer`.
  ConfigJson within(const std::string &outer) const;

  /// Whether `key` is there and JSON's null.
  bool isNull(const std::string &key) const;

  /// Where `key` stands, or the config.
  spec::SourcePlace place(const std::string &key) const;

  const std::string &fileName() const { return file; }

private:
  std::string file;
  spec::SourcePlace whole; ///< Where it begins.
  std::map<std::string, ConfigValue> values;
};

/// What `value` is, for messages: `"abc"`, `3.5`, `true`, `a list`.
std::string describe(const ConfigValue &value);

} // namespace hocket::huggingface

#endif // HOCKET_FRONTENDS_HUGGINGFACE_CONFIGJSON_H
