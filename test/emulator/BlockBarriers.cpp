//===- BlockBarriers.cpp - Barriers and tensor copies of a block ----------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "test/emulator/BlockBarriers.h"

#include "test/emulator/TensorMap.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <numeric>

using namespace hocket::emulator;

namespace {

constexpr unsigned registersOfBlock = 64 << 10;
/// What begun barriers hold, so that it is seen where one is written over.
constexpr uint64_t held = 0x72656972726162;
constexpr std::byte garbage{0xff};

bool holds(std::span<std::byte> memory, const void *at, size_t bytes) {
  const auto *first = static_cast<const std::byte *>(at);
  return first >= memory.data() &&
         first + bytes <= memory.data() + memory.size();
}

} // namespace

void BlockBarriers::begin(std::span<std::byte> sharedOfBlock,
                          Dynamic dynamicOfBlock, unsigned threads) {
  shared = sharedOfBlock;
  dynamic = dynamicOfBlock.memory, seen = dynamicOfBlock.seen;
  barriers.clear(), underWay.clear();
  meetings = {};
  // What a block that has a multiprocessor to itself may have.
  registers.assign(threads, std::min(255u, registersOfBlock / threads / 8 * 8));
}

//===----------------------------------------------------------------------===//
// Barriers in shared memory
//===----------------------------------------------------------------------===//

std::string BlockBarriers::nameOf(void *at) const {
  auto found = barriers.find(at);
  bool isStatic = holds(shared, at, 8);
  auto *base = isStatic ? shared.data() : dynamic.data();
  std::string text =
      "the barrier at " + std::to_string(static_cast<std::byte *>(at) - base) +
      (isStatic ? " of static shared memory" : " of dynamic shared memory");
  if (found == barriers.end())
    return text;
  const Barrier &barrier = found->second;
  return text + " in phase " + std::to_string(barrier.phase) +
         ", which lacks " + std::to_string(barrier.pending) + " of " +
         std::to_string(barrier.count) + " arrivals and " +
         std::to_string(barrier.bytes) + " bytes";
}

std::string BlockBarriers::find(void *at, Barrier *&barrier) {
  auto found = barriers.find(at);
  if (found == barriers.end())
    return "uses " + nameOf(at) + ", which was not begun";
  uint64_t holds = 0;
  std::memcpy(&holds, at, sizeof(holds));
  if (holds != held)
    return "finds that " + nameOf(at) + " was written over";
  barrier = &found->second;
  return "";
}

std::string BlockBarriers::beginBarrier(void *at, unsigned arrivals,
                                        unsigned thread) {
  if (!(holds(shared, at, 8) || holds(dynamic, at, 8)) ||
      reinterpret_cast<uintptr_t>(at) % 8 != 0)
    return "begins a barrier that is not in shared memory or not aligned";
  if (arrivals == 0 || arrivals >= 1 << 20)
    return "begins a barrier of too few or too many arrivals";
  if (barriers.contains(at))
    return "begins " + nameOf(at) + ", which goes on";
  Barrier barrier;
  barrier.count = barrier.pending = arrivals;
  barrier.beginner = thread;
  barriers.emplace(at, barrier);
  std::memcpy(at, &held, sizeof(held));
  return "";
}

void BlockBarriers::fenceBarrierInit(unsigned thread) {
  for (auto &[at, barrier] : barriers)
    barrier.isShown |= barrier.beginner == thread;
}

void BlockBarriers::settle(Barrier &barrier) {
  if (barrier.pending > 0 || barrier.bytes != 0)
    return;
  ++barrier.phase;
  barrier.pending = barrier.count;
}

std::string BlockBarriers::arrive(void *at, unsigned bytes) {
  Barrier *barrier = nullptr;
  if (std::string error = find(at, barrier); !error.empty())
    return error;
  if (barrier->pending == 0)
    return "arrives too often at " + nameOf(at);
  barrier->bytes += bytes;
  --barrier->pending;
  settle(*barrier);
  return "";
}

std::string BlockBarriers::checkWait(void *at) {
  Barrier *barrier = nullptr;
  return find(at, barrier);
}

bool BlockBarriers::hasEnded(void *at, unsigned parity) const {
  auto found = barriers.find(at);
  return found != barriers.end() && found->second.phase % 2 != parity;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void BlockBarriers::show(const std::byte *to, size_t bytes) const {
  if (holds(dynamic, to, bytes))
    std::copy_n(to, bytes, seen.begin() + (to - dynamic.data()));
}

std::string BlockBarriers::copyBox(void *to, const void *map, const int *at,
                                   int rank, void *barrier) {
  Barrier *on = nullptr;
  if (std::string error = find(barrier, on); !error.empty())
    return error;
  if (!on->isShown)
    return "copies to " + nameOf(barrier) + ", which was not shown";
  const TensorMap *tensor = TensorMap::at(map);
  if (!tensor)
    return "copies by something that is no tensor map";
  if (tensor->rank() != unsigned(rank))
    return "copies by a tensor map of rank " + std::to_string(tensor->rank()) +
           " with " + std::to_string(rank) + " places";
  size_t bytes = tensor->boxBytes();
  if (!holds(dynamic, to, bytes) && !holds(shared, to, bytes))
    return "copies a box that is not within shared memory";
  if (reinterpret_cast<uintptr_t>(to) % tensor->alignment() != 0)
    return "copies a box to an address that is not aligned";
  const auto *mapAt = static_cast<const std::byte *>(map);
  Copy copy = {{mapAt, mapAt + TensorMap::bytes}, {}, nullptr, barrier};
  std::copy(at, at + rank, copy.at.begin());
  copy.to = static_cast<std::byte *>(to);
  std::fill_n(copy.to, bytes, garbage);
  show(copy.to, bytes);
  underWay.push_back(std::move(copy));
  return "";
}

std::string BlockBarriers::land(size_t number, Access access) {
  Copy copy = std::move(underWay[number]);
  underWay.erase(underWay.begin() + int64_t(number));
  alignas(64) std::byte map[TensorMap::bytes];
  std::ranges::copy(copy.map, map);
  const TensorMap &tensor = *TensorMap::at(map);
  bool allowed = true;
  tensor.forEachVector(
      copy.at.data(), copy.to, [&](const TensorMap::Vector &vector) {
        if (!vector.from) {
          std::memset(vector.to, 0, vector.bytes);
          return;
        }
        allowed =
            allowed && (!access || access(vector.from, vector.bytes, false));
        if (allowed)
          std::memcpy(vector.to, vector.from, vector.bytes);
      });
  if (!allowed)
    return "copies what it may not read";
  show(copy.to, tensor.boxBytes());
  Barrier *barrier = nullptr;
  if (std::string error = find(copy.barrier, barrier); !error.empty())
    return error;
  barrier->bytes -= int64_t(tensor.boxBytes());
  settle(*barrier);
  return "";
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

std::string BlockBarriers::come(unsigned number, unsigned threads) {
  if (number == 0 || number >= meetings.size() || threads == 0 ||
      threads % 32 != 0)
    return "meets at a barrier whose number or threads there are not";
  Meeting &meeting = meetings[number];
  if (meeting.came > 0 && meeting.threads != threads)
    return "wants other threads at barrier " + std::to_string(number) +
           " than those that came";
  meeting.threads = threads;
  if (++meeting.came > threads)
    return "comes to barrier " + std::to_string(number) + ", which is full";
  return "";
}

bool BlockBarriers::isFull(unsigned number) {
  Meeting &meeting = meetings[number];
  if (meeting.threads == 0 || meeting.came < meeting.threads)
    return false;
  meeting = {};
  return true;
}

//===----------------------------------------------------------------------===//
// Registers
//===----------------------------------------------------------------------===//

std::string BlockBarriers::setRegisters(unsigned thread, unsigned count,
                                        bool raises) {
  if (count < 24 || count > 256 || count % 8 != 0)
    return "wants " + std::to_string(count) + " registers";
  unsigned &own = registers[thread];
  if (raises ? count < own : count > own)
    return std::string(raises ? "takes " : "gives all but ") +
           std::to_string(count) + " registers and has " + std::to_string(own);
  own = count;
  return "";
}

std::string BlockBarriers::end() const {
  if (!underWay.empty())
    return "ended while " + std::to_string(underWay.size()) +
           " copies were under way";
  for (const auto &[at, barrier] : barriers)
    if (barrier.bytes != 0)
      return "ended with " + nameOf(at);
  for (size_t i = 0; i < meetings.size(); ++i)
    if (meetings[i].came > 0)
      return "ended with " + std::to_string(meetings[i].came) + " of " +
             std::to_string(meetings[i].threads) + " threads at barrier " +
             std::to_string(i);
  for (size_t i = 0; i < registers.size(); ++i)
    if (registers[i] != registers[i / 128 * 128])
      return "has a warpgroup, from thread " + std::to_string(i / 128 * 128) +
             " on, of which not all threads gave or took registers";
  unsigned all = std::accumulate(registers.begin(), registers.end(), 0u);
  if (all > registersOfBlock)
    return "has " + std::to_string(all) + " registers, of which there are " +
           std::to_string(registersOfBlock);
  return "";
}
