//===- SocketTransport.cpp - Messages through TCP -------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/SocketTransport.h"

#include "base/Format.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <sys/socket.h>
#include <thread>

using namespace hocket;
using namespace hocket::comm;

namespace {

/// What goes before the bytes of a message.
struct Header {
  uint32_t channel = 0, tag = 0;
  uint64_t bytes = 0;
};

/// A message that was started: a send until it is written, a receive until its
/// bytes have come.
struct Pending {
  Message message;
  bool over = false;
  Status status;
};

/// What comes from one rank, in one channel, with one tag.
using Key = std::pair<ChannelId, uint32_t>;

/// One connection. Sends are written by a thread of their own, so that two
/// ranks that send each other much do not wait for each other.
struct Line {
  unsigned rank = 0;
  Socket socket;

  std::mutex sendMutex;
  std::condition_variable sendChanged;
  std::deque<Pending *> sends;
  std::thread writer, reader;

  std::mutex receiveMutex;
  std::map<Key, std::deque<Pending *>> receives;
  std::map<Key, std::deque<std::vector<char>>> early; ///< Nobody asked yet.
  Status lost; ///< Why nothing can come any more.
};

class SocketTransport : public Transport {
public:
  SocketTransport(const Launch &launch, std::vector<Socket> sockets);
  ~SocketTransport() override;

  unsigned rank() const override { return ownRank; }
  unsigned size() const override { return unsigned(lines.size()); }
  StatusOr<ChannelId>
  open(const std::vector<std::vector<unsigned>> &lists) override;
  StatusOr<Request> start(const Message &message) override;
  StatusOr<bool> test(Request request) override;
  void close() override {}

private:
  void write(Line &line);
  void read(Line &line);
  Status readMessage(Line &line);
  Status sendSelf(Pending &pending);
  void lose(Line &line);
  static Status deliver(Pending &pending, const std::vector<char> &bytes);

  unsigned peerOf(const Message &message);

  unsigned ownRank;
  std::vector<std::unique_ptr<Line>> lines; ///< By rank; the own one is local.
  std::mutex channelsMutex;
  std::vector<std::vector<unsigned>> channels;
  std::atomic<bool> closing{false};
  std::mutex doneMutex; ///< Of Pending::over and ::status.
};

} // namespace

SocketTransport::SocketTransport(const Launch &launch,
                                 std::vector<Socket> sockets)
    : ownRank(launch.rank) {
  for (Socket &socket : sockets) {
    lines.push_back(std::make_unique<Line>());
    lines.back()->rank = unsigned(lines.size() - 1);
    lines.back()->socket = std::move(socket);
  }
  for (auto &line : lines)
    if (line->socket.isOpen()) {
      line->writer = std::thread([this, at = line.get()] { write(*at); });
      line->reader = std::thread([this, at = line.get()] { read(*at); });
    }
}

SocketTransport::~SocketTransport() {
  closing.store(true);
  for (auto &line : lines)
    if (line->socket.isOpen()) {
      {
        std::lock_guard lock(line->sendMutex);
      }
      line->sendChanged.notify_all();
      line->writer.join();
      ::shutdown(line->socket.get(), SHUT_RDWR);
      line->reader.join();
    }
}

/// Channels are numbered in the order of the calls, the same on every rank.
StatusOr<ChannelId>
SocketTransport::open(const std::vector<std::vector<unsigned>> &lists) {
  std::lock_guard lock(channelsMutex);
  channels.emplace_back();
  for (const std::vector<unsigned> &list : lists)
    if (std::count(list.begin(), list.end(), ownRank)) {
      channels.back() = list;
      return ChannelId(channels.size() - 1);
    }
  return -1;
}

/// Its rank.
unsigned SocketTransport::peerOf(const Message &message) {
  std::lock_guard lock(channelsMutex);
  return channels[size_t(message.channel)][message.peer];
}

//===----------------------------------------------------------------------===//
// Starting
//===----------------------------------------------------------------------===//

Status SocketTransport::deliver(Pending &pending,
                                const std::vector<char> &bytes) {
  if (bytes.size() != pending.message.bytes)
    return internalError(
        formatText("received %zu bytes where %llu were expected", bytes.size(),
                   (unsigned long long)pending.message.bytes));
  if (!bytes.empty())
    std::memcpy(pending.message.data, bytes.data(), bytes.size());
  return okStatus();
}

/// A message to itself is kept, or goes where it is waited for.
Status SocketTransport::sendSelf(Pending &pending) {
  Line &line = *lines[ownRank];
  const char *data = static_cast<const char *>(pending.message.data);
  std::vector<char> bytes(data, data + pending.message.bytes);
  Key key{pending.message.channel, pending.message.tag};
  std::lock_guard lock(line.receiveMutex);
  auto &waiting = line.receives[key];
  pending.over = true;
  if (waiting.empty()) {
    line.early[key].push_back(std::move(bytes));
    return okStatus();
  }
  Pending *receive = waiting.front();
  waiting.pop_front();
  std::lock_guard done(doneMutex);
  receive->status = deliver(*receive, bytes);
  receive->over = true;
  return okStatus();
}

StatusOr<Transport::Request> SocketTransport::start(const Message &message) {
  auto pending = std::make_unique<Pending>();
  pending->message = message;
  unsigned peer = peerOf(message);
  Line &line = *lines[peer];
  if (message.send && peer == ownRank) {
    HOCKET_RETURN_IF_ERROR(sendSelf(*pending));
    return Request(pending.release());
  }
  if (message.send) {
    {
      std::lock_guard lock(line.sendMutex);
      line.sends.push_back(pending.get());
    }
    line.sendChanged.notify_one();
    return Request(pending.release());
  }
  Key key{message.channel, message.tag};
  std::lock_guard lock(line.receiveMutex);
  auto early = line.early.find(key);
  if (early == line.early.end() || early->second.empty()) {
    pending->status = line.lost;
    pending->over = !line.lost.ok();
    if (!pending->over)
      line.receives[key].push_back(pending.get());
    return Request(pending.release());
  }
  pending->status = deliver(*pending, early->second.front());
  pending->over = true;
  early->second.pop_front();
  return Request(pending.release());
}

StatusOr<bool> SocketTransport::test(Request request) {
  auto *pending = static_cast<Pending *>(request);
  {
    std::lock_guard lock(doneMutex);
    if (!pending->over)
      return false;
  }
  std::unique_ptr<Pending> ended(pending);
  HOCKET_RETURN_IF_ERROR(ended->status);
  return true;
}

//===----------------------------------------------------------------------===//
// The threads of a connection
//===----------------------------------------------------------------------===//

void SocketTransport::write(Line &line) {
  std::unique_lock lock(line.sendMutex);
  while (true) {
    line.sendChanged.wait(
        lock, [&] { return !line.sends.empty() || closing.load(); });
    if (line.sends.empty())
      return;
    Pending *pending = line.sends.front();
    line.sends.pop_front();
    lock.unlock();
    const Message &message = pending->message;
    Header header{uint32_t(message.channel), message.tag, message.bytes};
    Status status = writeAll(
        line.socket, {reinterpret_cast<const char *>(&header), sizeof(header)});
    if (status.ok())
      status = writeAll(line.socket, {static_cast<const char *>(message.data),
                                      size_t(message.bytes)});
    {
      std::lock_guard done(doneMutex);
      pending->status = status;
      pending->over = true;
    }
    lock.lock();
  }
}

static constexpr double forever = 1e6;

/// `bytes` of them, in memory that grows with what comes.
static Status readKept(const Socket &socket, uint64_t bytes,
                       std::vector<char> &kept) {
  constexpr uint64_t step = uint64_t(1) << 20;
  while (kept.size() < bytes) {
    size_t known = kept.size();
    uint64_t more = std::max(step, uint64_t(known)); // Doubles.
    kept.resize(known + size_t(std::min(more, bytes - known)));
    HOCKET_RETURN_IF_ERROR(
        readAll(socket, std::span<char>(kept).subspan(known), forever));
  }
  return okStatus();
}

/// Straight to where it is wanted, if that is known already.
Status SocketTransport::readMessage(Line &line) {
  Header header;
  HOCKET_RETURN_IF_ERROR(
      readAll(line.socket, {reinterpret_cast<char *>(&header), sizeof(header)},
              forever));
  Key key{ChannelId(header.channel), header.tag};
  if (header.bytes > messageLimit || header.channel >= (1u << 30))
    return unavailable("a message that no rank sends");
  Pending *receive = nullptr;
  {
    std::lock_guard lock(line.receiveMutex);
    auto &waiting = line.receives[key];
    if (!waiting.empty() && waiting.front()->message.bytes == header.bytes) {
      receive = waiting.front();
      waiting.pop_front();
    }
  }
  std::vector<char> kept;
  Status status = receive ? readAll(line.socket,
                                    {static_cast<char *>(receive->message.data),
                                     size_t(header.bytes)},
                                    forever)
                          : readKept(line.socket, header.bytes, kept);
  if (!receive && status.ok()) {
    std::lock_guard lock(line.receiveMutex);
    auto &waiting = line.receives[key];
    if (waiting.empty()) {
      line.early[key].push_back(std::move(kept));
      return okStatus();
    }
    receive = waiting.front();
    waiting.pop_front();
    status = deliver(*receive, kept);
  }
  if (!receive)
    return status;
  std::lock_guard done(doneMutex);
  receive->status = status;
  receive->over = true;
  return okStatus();
}

void SocketTransport::read(Line &line) {
  Status status;
  while (status.ok() && !closing.load())
    status = readMessage(line);
  lose(line);
}

/// Ends what still waits for something to come.
void SocketTransport::lose(Line &line) {
  std::lock_guard lock(line.receiveMutex);
  line.lost =
      unavailable(formatText("the connection to rank %u is gone", line.rank));
  std::lock_guard done(doneMutex);
  for (auto &[key, waiting] : line.receives)
    for (Pending *receive : waiting) {
      receive->status = line.lost;
      receive->over = true;
    }
  line.receives.clear();
}

StatusOr<std::unique_ptr<Transport>>
comm::createSocketTransport(const Launch &launch,
                            const ConnectOptions &options) {
  auto sockets = connectAll(launch, options);
  if (!sockets.ok())
    return sockets.status().withContext("connecting the ranks");
  return std::unique_ptr<Transport>(
      std::make_unique<SocketTransport>(launch, *std::move(sockets)));
}
