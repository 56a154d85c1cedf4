//===- RequestFields.h - The fields of a JSON request --------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Somebody's JSON object, field by field: each has its type and its bounds,
/// and what nobody has asked for is an error, not ignored.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_REQUESTFIELDS_H
#define HOCKET_RUNTIME_SERVE_REQUESTFIELDS_H

#include "base/Status.h"

#include <cstdint>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::serve {

class RequestFields {
public:
  /// InvalidArgument, with line and column, if `body` is no JSON object.
  static StatusOr<RequestFields> parse(std::string_view body);
  /// Those of an object within a request, that stands at `place`:
  /// "messages[0]". InvalidArgument if it is no object. The request's fields
  /// outlive them.
  static StatusOr<RequestFields> within(const nlohmann::json &object,
                                        const std::string &place);

  /// A field as messages name it: "'messages[0].role'".
  std::string quoted(const std::string &name) const;

  /// The value of a field that is not absent, or null there: else null. Each
  /// leaves `value` as it is where the field is absent or null.
  const nlohmann::json *find(const std::string &name);
  Status read(const std::string &name, bool &value);
  Status read(const std::string &name, std::string &value);
  /// Without a copy: the request's fields outlive `value`.
  Status read(const std::string &name, std::string_view &value);
  /// A number in [least, most].
  Status read(const std::string &name, double &value, double least,
              double most);
  /// A whole number in [least, most].
  Status read(const std::string &name, uint64_t &value, uint64_t least,
              uint64_t most);
  /// A string, or a list of at most `most` of them; none is empty.
  Status read(const std::string &name, std::vector<std::string> &value,
              size_t most);
  /// What this server has in one way only: absent, null, or `only`.
  Status expect(const std::string &name, const nlohmann::json &only);

  /// InvalidArgument unless a field is there.
  Status require(const std::string &name);

  /// InvalidArgument if there is a field that was not looked for.
  Status checkNoneLeft() const;

private:
  explicit RequestFields(const nlohmann::json &object) : object(&object) {}

  const nlohmann::json *object;
  std::shared_ptr<const nlohmann::json> owned; ///< Of a whole request.
  std::string place; ///< With a point behind it, or "".
  std::set<std::string> known;
};

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_REQUESTFIELDS_H
