//===- Pickle.h - A pickle as plain values ----------------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// torch.save describes what it saves as a pickle: a program for a small stack
/// machine that may name any function of Python and call it. This machine
/// calls nothing. It knows the opcodes of protocols 2 to 5 that Python writes,
/// and builds a tree of plain values. A name of Python (a "global") is a value
/// too, two strings; a call of it is a node with the name and the arguments.
/// Names that no checkpoint of Megatron-LM has are refused by name, so that a
/// pickle that was made to do harm is told apart from one that is not known.
///
/// Hostile until read: the number of opcodes' values, the length of the
/// program, the depth of the tree and references into the memo have limits; a
/// value that contains itself is refused. A value that is used in two places is
/// one node, so that a walk over a tree must have a limit of its own.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_MEGATRON_PICKLE_H
#define HOCKET_RUNTIME_MEGATRON_PICKLE_H

#include "base/Status.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::megatron {

/// One value of a pickle. Owned by its Pickle, as all that it points to.
struct PickleValue {
  enum class Kind {
    None,
    Bool, ///< integer
    Int,  ///< integer; LargeInt where 64 bits do not hold it
    LargeInt,
    Float,      ///< real
    String,     ///< text
    Bytes,      ///< text
    List,       ///< items
    Tuple,      ///< items
    Set,        ///< items
    Dict,       ///< items: key, value, key, value, ...
    Global,     ///< text: "module name"
    Call,       ///< callee, arguments, state; items: what was put in it since
    Persistent, ///< arguments: what the writer has said of a storage
  };
  Kind kind = Kind::None;
  union {
    int64_t integer = 0;
    double real;
  };
  std::string text;
  std::vector<const PickleValue *> items;
  const PickleValue *callee = nullptr;    ///< A Global.
  const PickleValue *arguments = nullptr; ///< A Tuple.
  const PickleValue *state = nullptr;
  int32_t levels = 0; ///< Of what it holds; known when all is read.

  bool is(Kind other) const { return kind == other; }
  /// Whether this is a call of `global`.
  bool calls(std::string_view global) const {
    return kind == Kind::Call && callee->text == global;
  }
  /// Whether items are keys and values: a dict, or a call that makes one.
  bool isMap() const;
  /// The value of a string key; nullptr if there is none or this is no map.
  const PickleValue *find(std::string_view key) const;
  /// An attribute of an object whose state is a dict; nullptr if there is none.
  const PickleValue *attribute(std::string_view name) const;
};

/// "a list", "the string 'abc'", "a call of torch._utils _rebuild_tensor_v2".
std::string describe(const PickleValue &value);

class Pickle {
public:
  static constexpr uint64_t kMostBytes = uint64_t{256} << 20;
  static constexpr uint64_t kMostValues = uint64_t{16} << 20;
  static constexpr int kMostDepth = 200;

  /// DataLoss that names the byte and what is wrong there, without a path.
  static StatusOr<Pickle> parse(std::string_view bytes);

  const PickleValue &root() const { return *top; }

private:
  friend class PickleMachine;
  std::deque<PickleValue> values; ///< Addresses hold.
  const PickleValue *top = nullptr;
};

/// Whether a pickle may name "module name" as data.
bool isKnownGlobal(std::string_view global);

} // namespace hocket::megatron

#endif // HOCKET_RUNTIME_MEGATRON_PICKLE_H
