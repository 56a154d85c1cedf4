//===- CheckSlices.cpp - Checks of the slices of parameters ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CheckedMath.h"
#include "runtime/base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"

#include <map>
#include <set>

using namespace hocket;
using program::ParameterSlice;

using Shape = google::protobuf::RepeatedField<uint64_t>;

namespace {
/// One tensor that slices must cover: a parameter's value or a slot.
struct State {
  const Shape *shape;
  program::DType dtype;
  std::string place;
  std::vector<const ParameterSlice *> slices; ///< Distinct boxes.
};

class SliceChecker {
public:
  SliceChecker(const program::Program &program, FaultList &faults)
      : program(program), faults(faults) {
    for (int i = 0; i < program.parameters_size(); ++i) {
      const program::Parameter &p = program.parameters(i);
      std::string place = formatText("parameter %d '%s'", i, p.name().c_str());
      states[{uint32_t(i), "value"}] = {&p.shape(), p.dtype(), place, {}};
      for (const auto &slot : p.slots())
        states[{uint32_t(i), slot.name()}] = {
            &slot.shape(), slot.dtype(), place + ", " + slot.name(), {}};
    }
  }

  void run() {
    size_t before = faults.count();
    for (int role = 0; role < program.roles_size(); ++role) {
      std::set<std::pair<uint32_t, std::string>> seen;
      std::set<uint32_t> buffers;
      for (const ParameterSlice &slice : program.roles(role).slices()) {
        if (!buffers.insert(slice.buffer()).second)
          faults.add(ProgramPlace{program, role}.text(),
                     formatText("two slices share buffer %u", slice.buffer()));
        if (!seen.insert({slice.parameter(), slice.state()}).second)
          faults.add(ProgramPlace{program, role}.text(),
                     formatText("holds two slices of parameter %u, %s",
                                slice.parameter(), slice.state().c_str()));
        collect(role, slice);
      }
    }
    if (faults.count() == before)
      for (const auto &[key, state] : states)
        checkCover(state);
  }

private:
  void collect(int role, const ParameterSlice &slice) {
    std::string place = ProgramPlace{program, role}.text();
    auto found = states.find({slice.parameter(), slice.state()});
    if (found == states.end()) {
      faults.add(place, formatText("a slice names parameter %u, state '%s', "
                                   "which does not exist",
                                   slice.parameter(), slice.state().c_str()));
      return;
    }
    State &state = found->second;
    if (std::string fault = sliceFault(role, slice, state); !fault.empty()) {
      faults.add(place + ", slice of " + state.place, fault);
      return;
    }
    for (const ParameterSlice *other : state.slices)
      if (sameBox(*other, slice))
        return;
    state.slices.push_back(&slice);
  }

  std::string sliceFault(int role, const ParameterSlice &slice,
                         const State &state) const {
    const program::Role &r = program.roles(role);
    if (slice.buffer() >= uint32_t(r.buffers_size()))
      return formatText("names buffer %u, there are %d", slice.buffer(),
                        r.buffers_size());
    if (slice.offset_size() != state.shape->size() ||
        slice.size_size() != state.shape->size())
      return formatText("has %d dims, the parameter %d", slice.size_size(),
                        state.shape->size());
    for (int d = 0; d < state.shape->size(); ++d)
      if (slice.size(d) == 0 ||
          !rangeInside(slice.offset(d), slice.size(d), state.shape->Get(d)))
        return "offset " + shapeText(slice.offset()) + " and size " +
               shapeText(slice.size()) + " lie outside " +
               shapeText(*state.shape);
    const program::Buffer &buffer = r.buffers(int(slice.buffer()));
    if (buffer.dtype() != state.dtype)
      return formatText("is of type %s, its buffer of type %s",
                        dataTypeName(state.dtype),
                        dataTypeName(buffer.dtype()));
    std::optional<uint64_t> bytes = tensorBytes(slice.size(), state.dtype);
    if (!bytes || *bytes > buffer.bytes())
      return formatText("does not fit into the %llu bytes of buffer %u",
                        (unsigned long long)buffer.bytes(), slice.buffer());
    if (!buffer.persistent() || buffer.slots() > 1)
      return formatText("buffer %u must be persistent and have one slot",
                        slice.buffer());
    return "";
  }

  static bool sameBox(const ParameterSlice &a, const ParameterSlice &b) {
    for (int d = 0; d < a.size_size(); ++d)
      if (a.offset(d) != b.offset(d) || a.size(d) != b.size(d))
        return false;
    return true;
  }

  static bool overlap(const ParameterSlice &a, const ParameterSlice &b) {
    for (int d = 0; d < a.size_size(); ++d)
      if (a.offset(d) >= b.offset(d) + b.size(d) ||
          b.offset(d) >= a.offset(d) + a.size(d))
        return false;
    return true;
  }

  /// Disjoint boxes inside the shape whose elements add up to the shape's
  /// cover it exactly once.
  void checkCover(const State &state) {
    uint64_t covered = 0;
    for (size_t i = 0; i < state.slices.size(); ++i) {
      for (size_t j = 0; j < i; ++j)
        if (overlap(*state.slices[i], *state.slices[j])) {
          faults.add(state.place, "two different slices overlap");
          return;
        }
      covered += checkedProduct(state.slices[i]->size()).value_or(0);
    }
    uint64_t elements = checkedProduct(*state.shape).value_or(0);
    if (covered != elements)
      faults.add(state.place,
                 formatText("slices cover %llu of its %llu elements",
                            (unsigned long long)covered,
                            (unsigned long long)elements));
  }

  const program::Program &program;
  FaultList &faults;
  std::map<std::pair<uint32_t, std::string>, State> states;
};
} // namespace

void hocket::checkSlices(const program::Program &program, FaultList &faults) {
  SliceChecker(program, faults).run();
}
