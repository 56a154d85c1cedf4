//===- FieldDamage.h - Any field of a program, changed ----------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_CERTIFICATE_FIELDDAMAGE_H
#define HOCKET_TEST_CERTIFICATE_FIELDDAMAGE_H

#include "test/certificate/Damage.h"

#include <string>
#include <vector>

namespace hocket::test {

/// One place in a program: a field, or an element of a repeated one.
struct FieldSpot {
  google::protobuf::Message *message = nullptr;
  const google::protobuf::FieldDescriptor *field = nullptr;
  int index = -1; ///< Of a repeated field.

  /// "Instruction.stream".
  std::string name() const;
};

/// Every place of `program`, of fields that are not set too; not of a oneof
/// that is not set.
std::vector<FieldSpot> fieldSpots(program::Program &program);

/// Changes the value there: a number becomes another, of an edge more often
/// than not; an element of a repeated field is changed, dropped, doubled or
/// swapped with the next. Returns what was done, or "" if nothing was.
std::string damageField(const FieldSpot &spot, Random &random);

/// Why a change of the field is not found, or null if each must be.
const char *harmlessReason(const std::string &field);

} // namespace hocket::test

#endif // HOCKET_TEST_CERTIFICATE_FIELDDAMAGE_H
