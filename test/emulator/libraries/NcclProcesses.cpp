//===- NcclProcesses.cpp - Ranks of several processes ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A club's work happens in the process that gave it its name, which answers
/// others at a socket of its own: each of their ranks has a connection and a
/// thread there, by which it takes part with copies of its data.
///
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/SocketConnections.h"
#include "test/emulator/libraries/NcclClub.h"

#include <cstddef>
#include <cstring>
#include <sys/socket.h>
#include <sys/un.h>
#include <thread>
#include <unistd.h>

using namespace hocket;
using namespace hocket::emulator;
using comm::CollectiveCall;
using comm::Socket;

namespace {

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

enum class Question : uint32_t {
  Join,       ///< name in the data, size in a
  IsComplete, ///< -> flag
  Collective, ///< rank in a -> number
  Message,    ///< a to b, flag: sends -> number
  Split,      ///< rank in a, color in b, key in the flag
  PartOf,     ///< rank in a -> flag, ranks in the data
  Again,      ///< number, launch -> number
  Arrive,     ///< number, side in a, call, data -> error in the data
  IsOver      ///< number -> flag, result in the data
};

struct Request {
  Question question;
  uint32_t a = 0, b = 0, flag = 0;
  uint64_t number = 0, launch = 0;
  // Of a call.
  uint32_t op = 0, dtype = 0, reduction = 0, root = 0;
  uint64_t count = 0, resultBytes = 0;
  uint64_t dataBytes = 0; ///< That follow.
};

struct Reply {
  uint32_t flag = 0;
  uint64_t number = 0, dataBytes = 0;
};

constexpr double kSeconds = 600;

template <class T> Status write(const Socket &socket, const T &header) {
  return comm::writeAll(
      socket, {reinterpret_cast<const char *>(&header), sizeof(header)});
}

template <class T> Status read(const Socket &socket, T &header) {
  return comm::readAll(
      socket, {reinterpret_cast<char *>(&header), sizeof(header)}, kSeconds);
}

/// The socket at which a process answers: no file is left of it.
struct Address {
  explicit Address(long process) {
    std::string name = "hocket-emulated-nccl." + std::to_string(process);
    value.sun_family = AF_UNIX;
    std::memcpy(value.sun_path + 1, name.data(), name.size());
    bytes = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr *get() const {
    return reinterpret_cast<const sockaddr *>(&value);
  }
  sockaddr_un value = {};
  socklen_t bytes = 0;
};

//===----------------------------------------------------------------------===//
// Where the work happens
//===----------------------------------------------------------------------===//

/// A rank of another process.
class Guest {
public:
  explicit Guest(Socket connection) : connection(std::move(connection)) {}

  /// Answers until the other end is closed.
  void serve() {
    Request request;
    while (read(connection, request).ok()) {
      std::vector<char> data(request.dataBytes);
      if (!comm::readAll(connection, data, kSeconds).ok())
        return;
      Reply reply;
      std::vector<char> said = answer(request, std::move(data), reply);
      reply.dataBytes = said.size();
      if (!write(connection, reply).ok() ||
          !comm::writeAll(connection, said).ok())
        return;
    }
  }

private:
  struct Held {
    std::shared_ptr<JointWork> work;
    std::vector<char> data, result;
  };

  uint64_t hold(std::shared_ptr<JointWork> work) {
    held[++last].work = std::move(work);
    return last;
  }

  std::vector<char> answer(const Request &request, std::vector<char> data,
                           Reply &reply) {
    if (request.question == Question::Join) {
      club = joinSharedClub({data.begin(), data.end()}, request.a);
      reply.flag = club != nullptr;
      return {};
    }
    if (!club)
      return {};
    switch (request.question) {
    case Question::IsComplete:
      reply.flag = club->isComplete();
      return {};
    case Question::Collective:
      reply.number = hold(club->collective(request.a));
      return {};
    case Question::Message:
      reply.number = hold(club->message(request.a, request.b, request.flag));
      return {};
    case Question::Split:
      club->split(request.a, int(request.b), int(request.flag));
      return {};
    case Question::PartOf: {
      std::optional<std::vector<unsigned>> ranks = club->partOf(request.a);
      reply.flag = ranks.has_value();
      std::vector<char> said(ranks ? ranks->size() * sizeof(unsigned) : 0);
      if (!said.empty())
        std::memcpy(said.data(), ranks->data(), said.size());
      return said;
    }
    case Question::Again:
      reply.number = hold(held.at(request.number).work->again(request.launch));
      return {};
    case Question::Arrive: {
      std::string error = arrive(request, std::move(data));
      return {error.begin(), error.end()};
    }
    default:
      break;
    }
    Held &entry = held.at(request.number);
    reply.flag = entry.work->isOver();
    if (!reply.flag)
      return {};
    std::vector<char> result = std::move(entry.result);
    held.erase(request.number);
    return result;
  }

  std::string arrive(const Request &request, std::vector<char> data) {
    Held &entry = held.at(request.number);
    entry.data = std::move(data);
    entry.result.resize(request.resultBytes);
    CollectiveCall call = comm::makeCall(
        CollectiveCall::Op(request.op),
        entry.data.empty() ? nullptr : entry.data.data(),
        entry.result.empty() ? nullptr : entry.result.data(), request.count,
        comm::DType(request.dtype), comm::Reduction(request.reduction));
    call.root = request.root;
    return entry.work->arrive(request.a, call, nullptr);
  }

  Socket connection;
  std::shared_ptr<Club> club;
  std::map<uint64_t, Held> held; ///< By number.
  uint64_t last = 0;
};

/// Answers from now on. Its threads end with the process.
bool openDoor() {
  Address address(::getpid());
  Socket door(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!door.isOpen() || ::bind(door.get(), address.get(), address.bytes) != 0 ||
      ::listen(door.get(), 64) != 0)
    return false;
  std::thread([door = std::move(door)] {
    for (;;) {
      Socket connection(::accept4(door.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection.isOpen())
        std::thread([guest = std::make_shared<Guest>(std::move(connection))] {
          guest->serve();
        }).detach();
    }
  }).detach();
  return true;
}

//===----------------------------------------------------------------------===//
// Where it is asked for
//===----------------------------------------------------------------------===//

/// A connection to the process in which the work happens. What is asked after
/// that is gone has no answer.
class Line {
public:
  explicit Line(Socket connection) : connection(std::move(connection)) {}

  std::optional<Reply> ask(Request request, std::span<const char> data = {},
                           std::vector<char> *said = nullptr) {
    std::lock_guard lock(mutex);
    std::vector<char> own;
    std::vector<char> &answer = said ? *said : own;
    Reply reply;
    request.dataBytes = data.size();
    if (!write(connection, request).ok() ||
        !comm::writeAll(connection, data).ok() || !read(connection, reply).ok())
      return std::nullopt;
    answer.resize(reply.dataBytes);
    if (!comm::readAll(connection, answer, kSeconds).ok())
      return std::nullopt;
    return reply;
  }

private:
  std::mutex mutex;
  Socket connection;
};

class DistantWork : public JointWork {
public:
  DistantWork(std::shared_ptr<Line> line, uint64_t number, unsigned ranks)
      : line(std::move(line)), number(number), ranks(ranks) {}

  std::string arrive(unsigned side, const CollectiveCall &call,
                     const AbortFlag &) override {
    spoilResult(call, ranks);
    Request request{Question::Arrive};
    request.number = number;
    request.a = side;
    request.op = uint32_t(call.op);
    request.dtype = uint32_t(call.dtype);
    request.reduction = uint32_t(call.reduction);
    request.root = call.root;
    request.count = call.count;
    request.resultBytes = bytesTo(call, ranks);
    const char *from = static_cast<const char *>(call.from);
    to = static_cast<char *>(call.to);
    std::vector<char> error;
    if (!line->ask(request, {from, bytesFrom(call, ranks)}, &error))
      return "";
    return {error.begin(), error.end()};
  }

  bool isOver() override {
    std::lock_guard lock(mutex);
    if (over)
      return true;
    Request request{Question::IsOver};
    request.number = number;
    std::vector<char> result;
    std::optional<Reply> reply = line->ask(request, {}, &result);
    if (!reply || !reply->flag)
      return false;
    if (!result.empty())
      std::memcpy(to, result.data(), result.size());
    return over = true;
  }

  std::shared_ptr<JointWork> again(uint64_t launch) override {
    Request request{Question::Again};
    request.number = number;
    request.launch = launch;
    std::optional<Reply> reply = line->ask(request);
    return std::make_shared<DistantWork>(line, reply ? reply->number : 0,
                                         ranks);
  }

private:
  std::shared_ptr<Line> line;
  const uint64_t number;
  const unsigned ranks;
  std::mutex mutex;
  char *to = nullptr;
  bool over = false;
};

class DistantClub : public Club {
public:
  DistantClub(std::shared_ptr<Line> line, const std::string &name,
              unsigned size)
      : Club(name, size), line(std::move(line)) {}

  bool isComplete() override {
    if (!complete)
      if (std::optional<Reply> reply = line->ask({Question::IsComplete}))
        complete = reply->flag != 0;
    return complete;
  }
  std::shared_ptr<JointWork> collective(unsigned rank) override {
    return workOf({Question::Collective, rank});
  }
  std::shared_ptr<JointWork> message(unsigned from, unsigned to,
                                     bool sends) override {
    return workOf({Question::Message, from, to, sends});
  }

  void split(unsigned rank, int color, int key) override {
    line->ask({Question::Split, rank, uint32_t(color), uint32_t(key)});
  }
  std::optional<std::vector<unsigned>> partOf(unsigned rank) override {
    std::vector<char> said;
    std::optional<Reply> reply = line->ask({Question::PartOf, rank}, {}, &said);
    if (!reply || !reply->flag)
      return std::nullopt;
    std::vector<unsigned> ranks(said.size() / sizeof(unsigned));
    if (!ranks.empty())
      std::memcpy(ranks.data(), said.data(), said.size());
    return ranks;
  }

private:
  std::shared_ptr<JointWork> workOf(const Request &request) {
    std::optional<Reply> reply = line->ask(request);
    if (!reply)
      return nullptr;
    return std::make_shared<DistantWork>(line, reply->number, size);
  }

  std::shared_ptr<Line> line;
  std::atomic<bool> complete{false};
};

} // namespace

std::string emulator::nameClub() {
  static const bool isOpen = openDoor();
  static std::atomic<unsigned> last{0};
  if (!isOpen)
    return "";
  return std::to_string(::getpid()) + "." + std::to_string(++last);
}

std::shared_ptr<Club> emulator::joinClub(const std::string &name,
                                         unsigned size) {
  long process = std::atol(name.c_str());
  if (process == ::getpid())
    return joinSharedClub(name, size);
  Address address(process);
  Socket connection(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!connection.isOpen() ||
      ::connect(connection.get(), address.get(), address.bytes) != 0)
    return nullptr;
  auto line = std::make_shared<Line>(std::move(connection));
  std::optional<Reply> reply = line->ask({Question::Join, size}, name);
  if (!reply || !reply->flag)
    return nullptr;
  return std::make_shared<DistantClub>(std::move(line), name, size);
}
