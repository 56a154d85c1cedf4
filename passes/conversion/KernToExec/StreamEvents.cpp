//===- StreamEvents.cpp - Events within a sequence ------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
//
// A sequence begins and ends with everything on stream 0. In between, two
// instructions on different streams are ordered if they use the same bytes of
// the arena and one of them changes them, be it as the same buffer or as
// another that was given its bytes. Each stream keeps a vector clock: how far,
// to its knowledge, the others have come. A wait that a clock makes needless is
// left out, so what is left has no event that follows from others.
//
//===----------------------------------------------------------------------===//

#include "passes/conversion/KernToExec/FlatProgram.h"

#include "llvm/Support/MathExtras.h"

#include <map>
#include <set>

using namespace mlir;
using namespace hocket;
using namespace hocket::kerntoexec;
using Kind = FlatInstruction::Kind;

namespace {

/// Bytes of the arena that an instruction uses.
struct ByteRange {
  int64_t begin = 0, end = 0;
  bool writes = false;

  bool clashes(const ByteRange &other) const {
    return (writes || other.writes) && begin < other.end && other.begin < end;
  }
};

/// Places the events of one sequence.
class SequenceEvents {
public:
  SequenceEvents(const FlatProgram &program, FlatSequence &sequence)
      : program(program), list(sequence.instructions) {
    first = !list.empty() && list.front().kind == Kind::Receive;
    end = list.size();
    if (end > first && list.back().kind == Kind::Send)
      --end;
  }

  /// Where each instruction is now; nothing if nothing was placed.
  std::vector<size_t> run();
  int64_t events() const { return static_cast<int64_t>(recorded.size()); }

private:
  /// By stream, the last instruction that is known to be over, counted from 1;
  /// 0 is the sequence's beginning, -1 nothing.
  using Clock = std::vector<int64_t>;
  struct Wait {
    int64_t stream, step;
  };

  int64_t streamOf(size_t i) const { return program.streamOf(list[i].lane); }
  static int64_t stepOf(size_t i) { return static_cast<int64_t>(i) + 1; }

  std::vector<ByteRange> bytesOf(const FlatInstruction &instruction) const;
  /// The last instruction of `stream` that `i` must follow and does not; what
  /// is not on stream 0 at least follows the beginning.
  int64_t lastClash(size_t i, int64_t stream) const;
  void order(size_t i);
  void joinAll();
  std::vector<size_t> insert();

  const FlatProgram &program;
  std::vector<FlatInstruction> &list;
  size_t first, end;
  std::vector<std::vector<ByteRange>> bytes;
  std::vector<std::vector<size_t>> onStream;
  std::vector<Clock> clocks;            ///< by stream
  std::vector<Clock> after;             ///< by step
  std::vector<std::vector<Wait>> waits; ///< by instruction; the end's last
  std::map<std::pair<int64_t, int64_t>, int64_t> recorded; ///< -> event
};

} // namespace

std::vector<ByteRange>
SequenceEvents::bytesOf(const FlatInstruction &instruction) const {
  std::vector<ByteRange> ranges;
  auto add = [&](ArrayRef<int> buffers, bool writes) {
    for (int b : buffers) {
      const FlatBuffer &buffer = program.buffers[program.find(b)];
      // All that stands in copies of one buffer is of one microbatch here.
      int64_t size = llvm::alignTo(buffer.bytes, 256) *
                     (buffer.within < 0 ? buffer.copies : 1);
      ranges.push_back({buffer.offset, buffer.offset + size, writes});
    }
  };
  add(instruction.inputs, false);
  add(instruction.outputs, true);
  return ranges;
}

int64_t SequenceEvents::lastClash(size_t i, int64_t stream) const {
  int64_t own = streamOf(i), known = clocks[own][stream];
  for (size_t other : llvm::reverse(onStream[stream])) {
    if (stepOf(other) <= known)
      return -1;
    for (const ByteRange &mine : bytes[i])
      for (const ByteRange &theirs : bytes[other])
        if (mine.clashes(theirs))
          return stepOf(other);
  }
  return stream == 0 && known < 0 ? 0 : -1;
}

void SequenceEvents::order(size_t i) {
  int64_t own = streamOf(i);
  std::vector<Wait> wanted;
  for (size_t stream = 0; stream < onStream.size(); ++stream)
    if (auto s = static_cast<int64_t>(stream); s != own)
      if (int64_t step = lastClash(i, s); step >= 0)
        wanted.push_back({s, step});
  // The latest first: it may imply the others.
  llvm::sort(wanted, [](Wait a, Wait b) { return a.step > b.step; });
  for (Wait wait : wanted) {
    if (clocks[own][wait.stream] >= wait.step)
      continue;
    waits[i].push_back(wait);
    for (auto [mine, theirs] : llvm::zip(clocks[own], after[wait.step]))
      mine = std::max(mine, theirs);
    clocks[own][wait.stream] = std::max(clocks[own][wait.stream], wait.step);
  }
  clocks[own][own] = stepOf(i);
  after[stepOf(i)] = clocks[own];
  onStream[own].push_back(i);
}

void SequenceEvents::joinAll() {
  for (size_t stream = 1; stream < onStream.size(); ++stream)
    if (!onStream[stream].empty())
      if (int64_t step = stepOf(onStream[stream].back());
          clocks[0][stream] < step)
        waits[end].push_back({static_cast<int64_t>(stream), step});
}

std::vector<size_t> SequenceEvents::insert() {
  for (const std::vector<Wait> &each : waits)
    for (Wait wait : each)
      recorded.try_emplace({wait.step, wait.stream},
                           static_cast<int64_t>(recorded.size()));
  std::vector<FlatInstruction> result;
  std::vector<size_t> places;
  auto add = [&](Kind kind, int64_t event, int64_t stream, Location loc) {
    result.push_back({kind, nullptr, loc});
    result.back().event = event;
    result.back().lane = stream ? program.lanes[stream - 1] : "";
  };
  auto addWaits = [&](size_t i, Location loc) {
    int64_t stream = i < end ? streamOf(i) : 0;
    for (Wait wait : waits[i])
      add(Kind::Wait, recorded.at({wait.step, wait.stream}), stream, loc);
  };
  ModuleOp module = program.module;
  Location loc = module.getLoc();
  for (size_t i = 0; i <= list.size(); ++i) {
    if (i == first)
      if (auto event = recorded.find({0, 0}); event != recorded.end())
        add(Kind::Record, event->second, 0, loc);
    if (i >= first && i <= end)
      addWaits(i, loc);
    places.push_back(result.size());
    if (i == list.size())
      break;
    bool inside = i >= first && i < end;
    int64_t stream = inside ? streamOf(i) : 0;
    result.push_back(std::move(list[i]));
    if (auto event = recorded.find({stepOf(i), stream});
        inside && event != recorded.end())
      add(Kind::Record, event->second, stream, loc);
  }
  list = std::move(result);
  return places;
}

std::vector<size_t> SequenceEvents::run() {
  if (llvm::all_of(list, [](const FlatInstruction &instruction) {
        return instruction.lane.empty();
      }))
    return {};
  size_t streams = program.lanes.size() + 1;
  onStream.resize(streams);
  clocks.assign(streams, Clock(streams, -1));
  after.assign(list.size() + 1, Clock(streams, -1));
  waits.resize(list.size() + 1);
  for (const FlatInstruction &instruction : list)
    bytes.push_back(bytesOf(instruction));
  for (size_t i = first; i < end; ++i)
    order(i);
  joinAll();
  return insert();
}

/// The lanes of all instructions: axes in the order of the mesh, then the rest.
void hocket::kerntoexec::numberLanes(FlatProgram &program) {
  std::set<std::string> used;
  for (const FlatSequence &sequence : program.sequences) {
    used.insert(sequence.lane);
    for (const FlatInstruction &instruction : sequence.instructions)
      used.insert(instruction.lane);
  }
  used.erase("");
  if (auto mesh = program.module->getAttrOfType<DictionaryAttr>("kern.mesh"))
    for (auto name : mesh.getAs<ArrayAttr>("axes").getAsRange<StringAttr>())
      if (used.erase(name.getValue().str()))
        program.lanes.push_back(name.getValue().str());
  program.lanes.insert(program.lanes.end(), used.begin(), used.end());
}

void hocket::kerntoexec::placeEvents(FlatProgram &program) {
  std::vector<int64_t> moved, ends; // by position before
  int64_t position = 0;
  for (FlatSequence &sequence : program.sequences) {
    size_t count = sequence.instructions.size();
    std::vector<size_t> places;
    if (sequence.lane.empty()) {
      SequenceEvents events(program, sequence);
      places = events.run();
      program.events = std::max(program.events, events.events());
    }
    for (size_t i = 0; i < count; ++i)
      moved.push_back(position + (places.empty() ? i : places[i]));
    ends.insert(ends.end(), moved.end() - count, moved.end());
    // What lives to the end lives through the waits that stand there.
    position += static_cast<int64_t>(sequence.instructions.size());
    if (count > 0)
      ends.back() = position - 1;
  }
  for (FlatBuffer &buffer : program.buffers)
    if (buffer.first >= 0) {
      buffer.first = moved[buffer.first];
      buffer.last = ends[buffer.last];
    }
}
