//===- CheckSlices.cpp - Checks of the slices of parameters ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CheckedMath.h"
#include "runtime/base/Format.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/RankPlace.h"

#include <algorithm>
#include <map>
#include <set>

using namespace hocket;
using program::ParameterSlice;

using Shape = google::protobuf::RepeatedField<uint64_t>;

namespace {
/// Elements [begin, end) of every dim of a global tensor.
struct Box {
  std::vector<uint64_t> begin, end;
  auto operator<=>(const Box &) const = default;

  uint64_t elements() const {
    uint64_t product = 1;
    for (size_t d = 0; d < begin.size(); ++d)
      product *= end[d] - begin[d];
    return product;
  }
  bool overlaps(const Box &other) const {
    for (size_t d = 0; d < begin.size(); ++d)
      if (begin[d] >= other.end[d] || other.begin[d] >= end[d])
        return false;
    return true;
  }
};

/// One tensor that slices must cover: a parameter's value or a slot.
struct State {
  const Shape *shape;
  program::DType dtype;
  std::string place;
  /// What ranks hold, without padding, and how many of them save it; none is
  /// empty.
  std::map<Box, unsigned> boxes;
};

class SliceChecker {
public:
  SliceChecker(const program::Program &program, FaultList &faults)
      : program(program), places(program), faults(faults) {
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
    for (uint32_t rank : program.roles(role).ranks())
      if (std::string fault = addBox(slice, rank, state); !fault.empty()) {
        faults.add(place + ", slice of " + state.place, fault);
        return;
      }
  }

  /// Notes what `rank` holds, less the padding behind the global shape.
  std::string addBox(const ParameterSlice &slice, uint32_t rank,
                     State &state) const {
    std::optional<std::vector<uint64_t>> start = places.sliceStart(slice, rank);
    if (!start)
      return formatText("starts nowhere on rank %u", rank);
    Box box;
    for (int d = 0; d < state.shape->size(); ++d) {
      uint64_t begin = (*start)[size_t(d)], dim = state.shape->Get(d);
      std::optional<uint64_t> end = checkedAdd(begin, slice.size(d));
      if (!end)
        return formatText("ends beyond 2^64 on rank %u", rank);
      if (begin >= dim)
        return ""; // padding alone
      box.begin.push_back(begin);
      box.end.push_back(std::min(*end, dim));
    }
    bool saves = std::all_of(
        slice.replicas().begin(), slice.replicas().end(),
        [&](uint32_t group) { return places.of(group, rank) == 0u; });
    state.boxes[std::move(box)] += saves;
    return "";
  }

  std::string sliceFault(int role, const ParameterSlice &slice,
                         const State &state) const {
    const program::Role &r = program.roles(role);
    if (slice.buffer() >= uint32_t(r.buffers_size()))
      return formatText("names buffer %u, there are %d", slice.buffer(),
                        r.buffers_size());
    if (slice.start_size() != state.shape->size() ||
        slice.size_size() != state.shape->size())
      return formatText("has %d dims, the parameter %d", slice.size_size(),
                        state.shape->size());
    for (uint64_t size : slice.size())
      if (size == 0)
        return "has no elements: " + shapeText(slice.size());
    for (uint32_t group : slice.replicas())
      if (group >= uint32_t(program.groups_size()))
        return formatText("names group %u, there are %d", group,
                          program.groups_size());
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

  /// Disjoint boxes inside the shape whose elements add up to the shape's
  /// cover it exactly once.
  void checkCover(const State &state) {
    uint64_t covered = 0;
    for (auto box = state.boxes.begin(); box != state.boxes.end(); ++box) {
      if (std::any_of(state.boxes.begin(), box, [&](const auto &other) {
            return box->first.overlaps(other.first);
          })) {
        faults.add(state.place, "two different slices overlap");
        return;
      }
      covered += box->first.elements();
      if (box->second != 1) {
        faults.add(state.place,
                   formatText("%u ranks save one slice, which its replicas "
                              "should leave to one",
                              box->second));
        return;
      }
    }
    uint64_t elements = checkedProduct(*state.shape).value_or(0);
    if (covered != elements)
      faults.add(state.place,
                 formatText("slices cover %llu of its %llu elements",
                            (unsigned long long)covered,
                            (unsigned long long)elements));
  }

  const program::Program &program;
  const RankPlaces places;
  FaultList &faults;
  std::map<std::pair<uint32_t, std::string>, State> states;
};
} // namespace

void hocket::checkSlices(const program::Program &program, FaultList &faults) {
  SliceChecker(program, faults).run();
}
