//===- LocalMailbox.cpp - Sends and receives among threads ----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/local/LocalMailbox.h"

#include "base/Format.h"

#include <algorithm>
#include <cstring>

using namespace hocket;
using namespace hocket::comm;

LocalMailbox::LocalMailbox(std::string name, std::vector<unsigned> ranks)
    : groupName(std::move(name)), members(std::move(ranks)) {
  for (size_t place = 0; place < members.size(); ++place)
    inboxes.push_back(std::make_unique<Inbox>());
}

/// Under the lock, so that the waiting thread cannot leave before it is told.
void LocalMailbox::Exchange::finish(const Status &status) {
  std::lock_guard lock(mutex);
  if (outcome.ok())
    outcome = status;
  if (--left == 0)
    changed.notify_all();
}

/// The two ends may differ in size or type, which is somebody's mistake.
Status LocalMailbox::deliver(const Post &send, const Post &receive) const {
  const Transfer &from = *send.transfer, &to = *receive.transfer;
  if (from.count != to.count || from.dtype != to.dtype)
    return internalError(formatText(
        "%s: rank %u sends %llu %s with tag %u, rank %u expects %llu %s",
        groupText(groupName, members).c_str(), members[send.place],
        (unsigned long long)from.count, typeName(from.dtype), from.tag,
        members[receive.place], (unsigned long long)to.count,
        typeName(to.dtype)));
  if (from.count > 0)
    std::memcpy(to.data, from.data,
                from.count * uint64_t(kernels::bytesOf(from.dtype)));
  return okStatus();
}

void LocalMailbox::post(unsigned place, const Transfer &transfer,
                        Exchange &exchange) {
  Post mine{&transfer, place, &exchange}, other{};
  Inbox &inbox = inboxOf(transfer, place);
  {
    std::lock_guard lock(inbox.mutex);
    auto &opposite = transfer.send ? inbox.receives : inbox.sends;
    auto match =
        std::find_if(opposite.begin(), opposite.end(), [&](const Post &post) {
          return post.place == transfer.peer && post.transfer->peer == place &&
                 post.transfer->tag == transfer.tag;
        });
    if (match == opposite.end()) {
      (transfer.send ? inbox.sends : inbox.receives).push_back(mine);
      return;
    }
    other = *match;
    opposite.erase(match);
  }
  Status status = transfer.send ? deliver(mine, other) : deliver(other, mine);
  other.exchange->finish(status);
  exchange.finish(status);
}

/// Takes back what nobody has matched.
void LocalMailbox::withdraw(unsigned place, std::span<const Transfer> transfers,
                            Exchange &exchange) {
  for (const Transfer &transfer : transfers) {
    Inbox &inbox = inboxOf(transfer, place);
    std::lock_guard lock(inbox.mutex);
    auto &posts = transfer.send ? inbox.sends : inbox.receives;
    auto mine = std::find_if(posts.begin(), posts.end(), [&](const Post &post) {
      return post.transfer == &transfer;
    });
    if (mine == posts.end())
      continue;
    posts.erase(mine);
    std::lock_guard counting(exchange.mutex);
    --exchange.left;
  }
}

WaitSubject LocalMailbox::subject(unsigned place,
                                  std::span<const Transfer> transfers) {
  WaitSubject subject;
  for (const Transfer &transfer : transfers) {
    Inbox &inbox = inboxOf(transfer, place);
    std::lock_guard lock(inbox.mutex);
    auto &posts = transfer.send ? inbox.sends : inbox.receives;
    if (std::none_of(posts.begin(), posts.end(), [&](const Post &post) {
          return post.transfer == &transfer;
        }))
      continue;
    unsigned peer = members[transfer.peer];
    subject.text += formatText(
        "%s%s rank %u (tag %u, %llu %s)", subject.text.empty() ? "" : ", ",
        transfer.send ? "send to" : "receive from", peer, transfer.tag,
        (unsigned long long)transfer.count, typeName(transfer.dtype));
    subject.ranks.push_back(peer);
  }
  subject.text = groupText(groupName, members) + ": waits to " + subject.text;
  return subject;
}

Status LocalMailbox::exchange(unsigned place,
                              std::span<const Transfer> transfers,
                              const LocalWaiter &waiter) {
  Exchange mine;
  mine.left = transfers.size();
  for (const Transfer &transfer : transfers)
    post(place, transfer, mine);
  std::unique_lock lock(mine.mutex);
  auto over = [&] { return mine.left == 0; };
  Status waited =
      waitLocally(waiter, lock, mine.changed, over, [&]() -> WaitSubject {
        // An inbox is locked before an exchange, never after.
        lock.unlock();
        WaitSubject now = subject(place, transfers);
        lock.lock();
        return now;
      });
  if (!waited.ok()) {
    lock.unlock();
    withdraw(place, transfers, mine);
    lock.lock();
    // What has been matched is being copied.
    mine.changed.wait(lock, over);
    return waited;
  }
  return mine.outcome;
}
