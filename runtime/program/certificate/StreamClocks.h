//===- StreamClocks.h - Which instruction has ended before which *- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Vector clocks over the streams of a rank. Instructions of a stream count
/// from 1; the clock of a stream says, for each stream, up to which instruction
/// everything has surely ended when its next one begins. A record takes a copy
/// of its stream's clock, a wait joins that into its own stream's. What the
/// host does in between is not relied on.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_PROGRAM_CERTIFICATE_STREAMCLOCKS_H
#define HOCKET_RUNTIME_PROGRAM_CERTIFICATE_STREAMCLOCKS_H

#include <algorithm>
#include <cstdint>
#include <vector>

namespace hocket {

class StreamClocks {
public:
  using Clock = std::vector<uint32_t>; ///< By stream.

  StreamClocks(uint32_t streams, uint32_t events)
      : clocks(streams, Clock(streams)), recorded(events) {}

  /// The number of the stream's next instruction, which begins.
  uint32_t next(uint32_t stream) { return ++clocks[stream][stream]; }

  /// Whether instruction `number` of stream `from` has ended when the last
  /// instruction given to `stream` begins.
  bool hasEnded(uint32_t from, uint32_t number, uint32_t stream) const {
    return from == stream || number <= clocks[stream][from];
  }

  void record(uint32_t stream, uint32_t event) {
    recorded[event] = clocks[stream];
  }

  /// False if the event has not been recorded.
  bool wait(uint32_t stream, uint32_t event) {
    for (size_t s = 0; s < recorded[event].size(); ++s)
      clocks[stream][s] = std::max(clocks[stream][s], recorded[event][s]);
    return !recorded[event].empty();
  }

private:
  std::vector<Clock> clocks;   ///< By stream.
  std::vector<Clock> recorded; ///< By event; empty: never.
};

} // namespace hocket

#endif // HOCKET_RUNTIME_PROGRAM_CERTIFICATE_STREAMCLOCKS_H
