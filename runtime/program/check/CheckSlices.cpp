//===- CheckSlices.cpp - Checks of the slices of parameters ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
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

/// Who holds one box.
struct Holders {
  uint32_t first = 0;    ///< The first that was found.
  uint64_t count = 0;    ///< Ranks.
  uint64_t expected = 0; ///< Ranks that the first one's replica groups reach.
  unsigned saving = 0;   ///< Ranks that save it.
  /// Where one gets from the first by going to the first of the list in each
  /// replica group: the rank that saves it, if all come there.
  uint32_t saver = 0;
};

/// One tensor that slices must cover: a parameter's value or a slot.
struct State {
  const Shape *shape;
  program::DType dtype;
  std::string place;
  /// What ranks hold, without padding; none is empty.
  std::map<Box, Holders> boxes;
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
          faults.add(ProgramRule::Slices, ProgramPlace{program, role}.text(),
                     formatText("two slices share buffer %u", slice.buffer()));
        if (!seen.insert({slice.parameter(), slice.state()}).second)
          faults.add(ProgramRule::Slices, ProgramPlace{program, role}.text(),
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
      faults.add(ProgramRule::Slices, place,
                 formatText("a slice names parameter %u, state '%s', "
                            "which does not exist",
                            slice.parameter(), slice.state().c_str()));
      return;
    }
    State &state = found->second;
    if (std::string fault = sliceFault(role, slice, state); !fault.empty()) {
      faults.add(ProgramRule::Slices, place + ", slice of " + state.place,
                 fault);
      return;
    }
    for (uint32_t rank : program.roles(role).ranks()) {
      Box box;
      ProgramRule rule = ProgramRule::Slices;
      std::string fault = boxOf(slice, rank, state, box);
      bool isPadding = box.begin.empty() && !state.shape->empty();
      if (fault.empty() && !isPadding) {
        rule = ProgramRule::Replicas;
        fault = addHolder(slice, rank, state.boxes[std::move(box)]);
      }
      if (!fault.empty()) {
        faults.add(rule, place + ", slice of " + state.place, fault);
        return;
      }
    }
  }

  /// What `rank` holds, less the padding behind the global shape; no dims if
  /// that is all.
  std::string boxOf(const ParameterSlice &slice, uint32_t rank,
                    const State &state, Box &box) const {
    std::optional<std::vector<uint64_t>> start = places.sliceStart(slice, rank);
    if (!start)
      return formatText("starts nowhere on rank %u", rank);
    for (int d = 0; d < state.shape->size(); ++d) {
      uint64_t begin = (*start)[size_t(d)], dim = state.shape->Get(d);
      std::optional<uint64_t> end = checkedAdd(begin, slice.size(d));
      if (!end)
        return formatText("ends beyond 2^64 on rank %u", rank);
      if (begin >= dim) {
        box = {};
        return "";
      }
      box.begin.push_back(begin);
      box.end.push_back(std::min(*end, dim));
    }
    return "";
  }

  std::string addHolder(const ParameterSlice &slice, uint32_t rank,
                        Holders &holders) const {
    uint32_t saver = rank;
    uint64_t expected = 1;
    for (uint32_t group : slice.replicas()) {
      std::optional<uint32_t> first = places.firstOf(group, saver);
      if (!first)
        return formatText("rank %u is in no list of its replica group %u",
                          saver, group);
      saver = *first;
      expected *= uint64_t(program.groups(int(group)).members(0).ranks_size());
    }
    if (holders.count++ == 0) {
      holders.first = rank;
      holders.expected = expected;
      holders.saver = saver;
    }
    holders.saving += saver == rank;
    if (saver != holders.saver || expected != holders.expected)
      return formatText("rank %u holds what rank %u holds, but its replica "
                        "groups lead to rank %u and not to %u",
                        rank, holders.first, saver, holders.saver);
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
    if (auto overlap = findOverlap(state)) {
      faults.add(ProgramRule::Cover, state.place,
                 formatText("two different slices overlap, of ranks %u and %u",
                            overlap->first, overlap->second));
      return;
    }
    uint64_t covered = 0;
    for (const auto &[box, holders] : state.boxes) {
      covered += box.elements();
      if (std::string fault = holdersFault(holders); !fault.empty()) {
        faults.add(ProgramRule::Replicas, state.place, fault);
        return;
      }
    }
    uint64_t elements = checkedProduct(*state.shape).value_or(0);
    if (covered != elements)
      faults.add(ProgramRule::Cover, state.place,
                 formatText("slices cover %llu of its %llu elements",
                            (unsigned long long)covered,
                            (unsigned long long)elements));
  }

  /// All that hold a box come to one saver, which is one of them; if there are
  /// as many as its replica groups reach, they are those.
  static std::string holdersFault(const Holders &holders) {
    if (holders.saving != 1)
      return formatText("%u ranks save one slice, which its replicas should "
                        "leave to one",
                        holders.saving);
    if (holders.count != holders.expected)
      return formatText("%llu ranks hold the slice of rank %u, its replica "
                        "groups have %llu",
                        (unsigned long long)holders.count, holders.first,
                        (unsigned long long)holders.expected);
    return "";
  }

  /// Two ranks whose boxes overlap. Sweeps along the dim that is cut most.
  static std::optional<std::pair<uint32_t, uint32_t>>
  findOverlap(const State &state) {
    size_t along = mostCutDim(state);
    std::vector<const std::pair<const Box, Holders> *> boxes;
    for (const auto &box : state.boxes)
      boxes.push_back(&box);
    if (boxes.size() < 2) // So has every scalar.
      return std::nullopt;
    std::sort(boxes.begin(), boxes.end(), [&](const auto *a, const auto *b) {
      return a->first.begin[along] < b->first.begin[along];
    });
    std::vector<const std::pair<const Box, Holders> *> open;
    for (const auto *box : boxes) {
      std::erase_if(open, [&](const auto *other) {
        return other->first.end[along] <= box->first.begin[along];
      });
      for (const auto *other : open)
        if (box->first.overlaps(other->first))
          return std::pair(box->second.first, other->second.first);
      open.push_back(box);
    }
    return std::nullopt;
  }

  static size_t mostCutDim(const State &state) {
    size_t best = 0, most = 0;
    for (int d = 0; d < state.shape->size(); ++d) {
      std::set<uint64_t> begins;
      for (const auto &[box, holders] : state.boxes)
        begins.insert(box.begin[size_t(d)]);
      if (begins.size() > most) {
        most = begins.size();
        best = size_t(d);
      }
    }
    return best;
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
