//===- CheckBuffers.cpp - Checks of buffers and their lifetimes -----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "base/CheckedMath.h"
#include "base/Format.h"
#include "runtime/program/BufferCopies.h"
#include "runtime/program/DataType.h"
#include "runtime/program/FaultList.h"
#include "runtime/program/InstructionOperands.h"

#include <algorithm>
#include <bit>
#include <map>

using namespace hocket;
using program::Buffer;
using program::Role;

static std::string bufferPlace(const program::Program &program, int role,
                               int buffer) {
  return ProgramPlace{program, role}.text() +
         formatText(", buffer %d '%s'", buffer,
                    program.roles(role).buffers(buffer).name().c_str());
}

/// Bytes from the start of the first slot to the end of the last; nullopt for
/// overflow.
static std::optional<uint64_t> bufferExtent(const Buffer &buffer) {
  uint64_t copies = copiesOf(buffer);
  std::optional<uint64_t> before =
      checkedMultiply(copies - 1, buffer.slot_stride());
  return before ? checkedAdd(*before, buffer.bytes()) : std::nullopt;
}

/// The reason why `buffer` is unsound, or nothing.
static std::string bufferFault(const Buffer &buffer,
                               const program::MemoryPlan &memory) {
  if (dataTypeBytes(buffer.dtype()) == 0)
    return formatText("element type %d does not exist", int(buffer.dtype()));
  std::optional<uint64_t> dense = tensorBytes(buffer.shape(), buffer.dtype());
  std::optional<uint64_t> padded =
      dense ? checkedAlign(*dense, memory.alignment()) : std::nullopt;
  if (!padded || *dense == 0)
    return "shape " + shapeText(buffer.shape()) +
           " is empty or has more than 2^64 bytes";
  if (buffer.bytes() < *dense || buffer.bytes() > *padded)
    return formatText("has %llu bytes, its %s of %s takes %llu",
                      wide(buffer.bytes()), shapeText(buffer.shape()).c_str(),
                      dataTypeName(buffer.dtype()), wide(*dense));
  if (buffer.offset() % memory.alignment() != 0)
    return formatText("offset %llu is not a multiple of the alignment %llu",
                      wide(buffer.offset()), wide(memory.alignment()));
  if (buffer.slots() > 1 && (buffer.slot_stride() < buffer.bytes() ||
                             buffer.slot_stride() % memory.alignment() != 0))
    return formatText("slot stride %llu is too small or not aligned",
                      wide(buffer.slot_stride()));
  std::optional<uint64_t> extent = bufferExtent(buffer);
  if (!extent || !rangeInside(buffer.offset(), *extent, memory.arena_bytes()))
    return formatText("bytes [%llu, +%llu) lie outside the arena of %llu",
                      wide(buffer.offset()), wide(extent.value_or(~0ull)),
                      wide(memory.arena_bytes()));
  if (buffer.first() > buffer.last())
    return formatText("lives from instruction %llu to %llu",
                      wide(buffer.first()), wide(buffer.last()));
  return "";
}

/// The reason why `buffer` cannot stand in the buffer that it names, or
/// nothing. Both are sound by themselves.
static std::string withinFault(const Buffer &buffer, const Role &role) {
  if (buffer.within() == 0)
    return "";
  if (buffer.within() > uint32_t(role.buffers_size()))
    return formatText("is within buffer %u, there are %d", buffer.within() - 1,
                      role.buffers_size());
  const Buffer &host = role.buffers(int(buffer.within() - 1));
  if (host.within() || host.slots() != buffer.slots() ||
      host.slot_stride() != buffer.slot_stride() ||
      host.by_microbatch() != buffer.by_microbatch() || buffer.persistent())
    return formatText("is within buffer %u, which has other copies",
                      buffer.within() - 1);
  if (buffer.offset() < host.offset() ||
      buffer.offset() + buffer.bytes() > host.offset() + host.bytes() ||
      buffer.first() < host.first() || buffer.last() > host.last())
    return formatText("lies or lives outside of buffer %u, which it is within",
                      buffer.within() - 1);
  return "";
}

void hocket::checkBuffers(const program::Program &program, int role,
                          FaultList &faults) {
  const Role &r = program.roles(role);
  const program::MemoryPlan &memory = r.memory();
  std::string place = ProgramPlace{program, role}.text();
  if (!std::has_single_bit(memory.alignment()) || memory.alignment() < 4 ||
      memory.alignment() > 4096) {
    faults.add(ProgramRule::Buffers, place,
               formatText("alignment %llu is not a power of two from 4 "
                          "to 4096",
                          wide(memory.alignment())));
    return;
  }
  if (memory.arena_bytes() > uint64_t(1) << 56 ||
      memory.scratch_bytes_per_worker() > uint64_t(1) << 40)
    faults.add(ProgramRule::Buffers, place,
               formatText("an arena of %llu bytes and scratch of %llu "
                          "are beyond any machine",
                          wide(memory.arena_bytes()),
                          wide(memory.scratch_bytes_per_worker())));
  // Each of these is made when the program is loaded.
  constexpr uint32_t mostStreams = 1024, mostEvents = 1 << 22;
  if (r.streams() > mostStreams || r.events() > mostEvents)
    faults.add(ProgramRule::Buffers, place,
               formatText("%u streams and %u events are beyond any machine",
                          r.streams(), r.events()));
  size_t before = faults.count();
  for (int i = 0; i < r.buffers_size() && !faults.full(); ++i)
    if (std::string fault = bufferFault(r.buffers(i), memory); !fault.empty())
      faults.add(ProgramRule::Buffers, bufferPlace(program, role, i), fault);
  if (faults.count() == before)
    for (int i = 0; i < r.buffers_size() && !faults.full(); ++i)
      if (std::string fault = withinFault(r.buffers(i), r); !fault.empty())
        faults.add(ProgramRule::Buffers, bufferPlace(program, role, i), fault);
}

//===----------------------------------------------------------------------===//
// Lifetimes
//===----------------------------------------------------------------------===//

namespace {
/// From where to where a buffer is used, in instructions counted through all
/// sequences.
struct BufferUse {
  bool used = false;
  uint64_t first = 0, last = 0;
};

/// Ranges of the arena that are occupied at one moment.
class OccupiedRanges {
public:
  /// The occupant that overlaps [begin, end), or -1 after inserting it.
  int insert(uint64_t begin, uint64_t end, int buffer) {
    auto after = ranges.lower_bound(begin);
    if (after != ranges.end() && after->first < end)
      return after->second.second;
    if (after != ranges.begin()) {
      auto before = std::prev(after);
      if (before->second.first > begin)
        return before->second.second;
    }
    ranges.emplace(begin, std::make_pair(end, buffer));
    return -1;
  }
  void erase(uint64_t begin) { ranges.erase(begin); }

private:
  std::map<uint64_t, std::pair<uint64_t, int>> ranges; // begin -> end, buffer
};

/// Checks the lifetimes of one role.
class LifetimeChecker {
public:
  LifetimeChecker(const program::Program &program, int role, FaultList &faults)
      : program(program), role(role), r(program.roles(role)), faults(faults),
        uses(size_t(r.buffers_size())) {}

  void run() {
    collectUses();
    for (int b = 0; b < r.buffers_size(); ++b)
      checkDeclared(b);
    std::vector<int> passing;
    OccupiedRanges ranges;
    for (int b = 0; b < r.buffers_size(); ++b)
      if (r.buffers(b).persistent())
        occupy(ranges, b);
      else if (uses[b].used && !r.buffers(b).within())
        passing.push_back(b);
    sweep(passing, ranges);
  }

private:
  void collectUses() {
    uint64_t position = 0;
    for (const auto &sequence : r.sequences())
      for (const auto &instruction : sequence.instructions()) {
        for (const auto &operand : operandsOf(instruction, program)) {
          BufferUse &use = uses[operand.buffer];
          if (!use.used)
            use = {true, position, position};
          use.last = position;
        }
        ++position;
      }
    for (int b = 0; b < r.buffers_size(); ++b)
      if (uint32_t host = r.buffers(b).within(); host && uses[b].used)
        addUse(uses[host - 1], uses[b]);
  }

  static void addUse(BufferUse &to, const BufferUse &use) {
    to = to.used ? BufferUse{true, std::min(to.first, use.first),
                             std::max(to.last, use.last)}
                 : use;
  }

  void checkDeclared(int b) {
    const Buffer &buffer = r.buffers(b);
    if (buffer.persistent() || !uses[b].used)
      return;
    if (uses[b].first < buffer.first() || uses[b].last > buffer.last())
      faults.add(ProgramRule::Lifetimes, bufferPlace(program, role, b),
                 formatText("is used by instructions %llu to %llu, but lives "
                            "from %llu to %llu",
                            wide(uses[b].first), wide(uses[b].last),
                            wide(buffer.first()), wide(buffer.last())));
  }

  void occupy(OccupiedRanges &ranges, int b) {
    const Buffer &buffer = r.buffers(b);
    uint64_t end = buffer.offset() + *bufferExtent(buffer);
    int other = ranges.insert(buffer.offset(), end, b);
    if (other >= 0)
      faults.add(ProgramRule::Lifetimes, bufferPlace(program, role, b),
                 formatText("shares bytes with buffer %d '%s', which lives at "
                            "the same time",
                            other, r.buffers(other).name().c_str()));
  }

  /// Walks the lifetimes in time order.
  void sweep(std::vector<int> &buffers, OccupiedRanges &ranges) {
    std::sort(buffers.begin(), buffers.end(), [&](int a, int b) {
      return r.buffers(a).first() < r.buffers(b).first();
    });
    std::multimap<uint64_t, int> ends; // last -> buffer
    for (int b : buffers) {
      if (faults.full())
        return;
      uint64_t now = r.buffers(b).first();
      while (!ends.empty() && ends.begin()->first < now) {
        ranges.erase(r.buffers(ends.begin()->second).offset());
        ends.erase(ends.begin());
      }
      size_t before = faults.count();
      occupy(ranges, b);
      if (faults.count() == before)
        ends.emplace(r.buffers(b).last(), b);
    }
  }

  const program::Program &program;
  int role;
  const Role &r;
  FaultList &faults;
  std::vector<BufferUse> uses;
};
} // namespace

void hocket::checkLifetimes(const program::Program &program, int role,
                            FaultList &faults) {
  LifetimeChecker(program, role, faults).run();
}
