//===- LocalMailbox.h - Sends and receives among threads --------*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_COMM_LOCAL_LOCALMAILBOX_H
#define HOCKET_RUNTIME_COMM_LOCAL_LOCALMAILBOX_H

#include "runtime/comm/local/LocalState.h"

#include <deque>

namespace hocket::comm {

/// One list of ranks: what its members send each other, whatever streams they
/// do it on. Whoever comes second copies, straight from sender to receiver; a
/// send is over when it has been received.
class LocalMailbox {
public:
  LocalMailbox(std::string name, std::vector<unsigned> ranks);

  /// All transfers of the member at `place`; returns when they are over.
  Status exchange(unsigned place, std::span<const Transfer> transfers,
                  const LocalWaiter &waiter);

private:
  /// One call of exchange(); lives on its caller's stack until nothing is left.
  struct Exchange {
    std::mutex mutex;
    std::condition_variable changed;
    size_t left = 0;
    Status outcome;

    void finish(const Status &status);
  };

  /// A transfer whose peer has not come yet.
  struct Post {
    const Transfer *transfer;
    unsigned place; ///< Of who posted it.
    Exchange *exchange;
  };

  /// What waits for, or from, one member.
  struct Inbox {
    std::mutex mutex;
    std::deque<Post> sends, receives;
  };

  Inbox &inboxOf(const Transfer &transfer, unsigned place) {
    return *inboxes[transfer.send ? transfer.peer : place];
  }
  void post(unsigned place, const Transfer &transfer, Exchange &exchange);
  Status deliver(const Post &send, const Post &receive) const;
  void withdraw(unsigned place, std::span<const Transfer> transfers,
                Exchange &exchange);
  WaitSubject subject(unsigned place, std::span<const Transfer> transfers);

  const std::string groupName;
  const std::vector<unsigned> members;
  std::vector<std::unique_ptr<Inbox>> inboxes; ///< By place of the receiver.
};

} // namespace hocket::comm

#endif // HOCKET_RUNTIME_COMM_LOCAL_LOCALMAILBOX_H
