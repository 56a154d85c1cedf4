//===- NcclClub.h - All ranks of a communicator -----------------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The n-th collective that a rank issues is that which all others issue as
/// their n-th; so are the messages from one rank to another.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_TEST_EMULATOR_LIBRARIES_NCCLCLUB_H
#define HOCKET_TEST_EMULATOR_LIBRARIES_NCCLCLUB_H

#include "test/emulator/libraries/NcclMeeting.h"

namespace hocket::emulator {

/// A communicator's ranks, whatever processes they are in. Any thread.
class Club {
public:
  Club(std::string name, unsigned size) : name(std::move(name)), size(size) {}
  virtual ~Club() = default;

  /// Whether all ranks have joined.
  virtual bool isComplete() = 0;
  /// Null if the process that has the work is gone.
  virtual std::shared_ptr<JointWork> collective(unsigned rank) = 0;
  virtual std::shared_ptr<JointWork> message(unsigned from, unsigned to,
                                             bool sends) = 0;
  /// Whether all ranks have issued the collective that this one issued last; of
  /// ranks of other processes that is not known.
  virtual bool isIssuedByAll(unsigned) { return true; }

  /// A rank takes part in the next split, in a part of that color (below 0: in
  /// none), where ranks stand by their keys.
  virtual void split(unsigned rank, int color, int key) = 0;
  /// The ranks of the part that its last split put the rank into; nothing
  /// before all have taken part.
  virtual std::optional<std::vector<unsigned>> partOf(unsigned rank) = 0;

  const std::string name;
  const unsigned size;
};

/// A name for a club whose work is to happen in this process.
std::string nameClub();

/// Joins the club of that name, in whichever process of this machine it got it.
/// Null if it is not to be reached, or has not `size` ranks.
std::shared_ptr<Club> joinClub(const std::string &name, unsigned size);

/// Joins one of this process.
std::shared_ptr<Club> joinSharedClub(const std::string &name, unsigned size);

} // namespace hocket::emulator

#endif // HOCKET_TEST_EMULATOR_LIBRARIES_NCCLCLUB_H
