//===- CommunicatorSet.h - The communicators of one rank --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A world of ranks makes all its communicators at once, before the first
/// instruction, in the order of a table that is the same on every rank: one
/// for each list of ranks and each stream on which collectives of its group
/// are issued, so that two streams never race for one communicator.
///
/// Sends and receives of a group match whatever streams they were issued on.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATORSET_H
#define HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATORSET_H

#include "runtime/comm/interfaces/Communicator.h"
#include "runtime/comm/interfaces/HangWatch.h"

#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace hocket::comm {

/// Ranks that communicate: disjoint lists of distinct ranks; a rank's index in
/// its list is its place.
struct RankGroup {
  std::string name; ///< "dp", "cp.tp"
  std::vector<std::vector<unsigned>> lists;
  std::vector<uint32_t> streams; ///< That use it; ascending.
  /// Those of them with collectives, and the tags of its messages; ascending.
  std::vector<uint32_t> collectiveStreams = {}, tags = {};
  /// Those of collectiveStreams on which everybody sends to everybody.
  std::vector<uint32_t> allToAllStreams = {};
  /// By tag, who sends to whom, ranks of the world. A tag that is not there:
  /// everybody to everybody.
  std::map<uint32_t, std::set<std::pair<unsigned, unsigned>>> links = {};
  /// By tag, the one among whose messages its own may be counted, if not
  /// itself.
  std::map<uint32_t, uint32_t> sharedTags = {};
};

struct GroupTable {
  unsigned ranks = 1;
  std::vector<RankGroup> groups;
  /// Operations that may be under way at once on a rank's device.
  unsigned atOnce = 1;
};

/// InvalidArgument if a list is empty or names a rank twice or one that does
/// not exist.
Status checkGroupTable(const GroupTable &table);

/// "rank 2", or "ranks 0, 2", for people; long lists are cut.
std::string ranksText(const std::vector<unsigned> &ranks);

/// "group 'dp' of ranks 0, 2".
std::string groupText(const std::string &name,
                      const std::vector<unsigned> &ranks);

/// One rank's communicators. They live as long as this object.
class CommunicatorSet {
public:
  virtual ~CommunicatorSet() = default;

  /// All ranks, for the thread that runs the rank.
  virtual Communicator &world() = 0;

  /// For instructions of `stream` on `group`, an index into the table. Null if
  /// the rank is in no list of the group, or the table has not that stream.
  virtual Communicator *find(uint32_t group, uint32_t stream) = 0;

  /// What this rank does; its threads keep it up to date.
  virtual RankActivity &activity() = 0;

  /// Tells all other ranks that this one ends because of `error`: whatever
  /// they wait for ends with Unavailable and names this rank. The first call
  /// of a world counts.
  virtual void fail(const Status &error) = 0;

  /// Looks after the other ranks, as whoever waits for them in a communicator
  /// does; Unavailable with the reason when the world has failed. Any thread.
  virtual Status check() = 0;

  /// Whether all communicators of groups are on a device (isOnDevice()), whose
  /// events order what they do.
  virtual bool isOnDevice() const { return false; }
  /// Where the device captures what is issued to its streams
  /// (Device::beginCapture()), by all ranks alike: around that, with room for
  /// so many collectives and exchanges; the graph's number here.
  virtual StatusOr<unsigned> beginCapture(size_t) { return 0U; }
  virtual void endCapture() {}
  /// It is about to be replayed, and nothing is under way.
  virtual void replaying(unsigned) {}

  /// The device's streams, before the first call (Device::nativeStream()).
  virtual void useStreams(const std::vector<void *> &) {}
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_INTERFACES_COMMUNICATORSET_H
