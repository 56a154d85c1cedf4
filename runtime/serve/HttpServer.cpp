//===- HttpServer.cpp - Requests over HTTP, within limits -----------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/HttpServer.h"

#include "base/Format.h"

#include <array>
#include <atomic>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <list>
#include <mutex>
#include <optional>
#include <sys/socket.h>
#include <thread>

using namespace hocket;
using namespace hocket::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;
using boost::system::error_code;

//===----------------------------------------------------------------------===//
// A connection
//===----------------------------------------------------------------------===//

void HttpRequest::dropBody() {
  std::string().swap(body);
  share.reset();
}

namespace {

/// Bytes that all connections share.
class Room {
public:
  explicit Room(uint64_t bytes) : left(bytes) {}

  bool take(uint64_t bytes) {
    uint64_t now = left;
    while (now >= bytes)
      if (left.compare_exchange_weak(now, now - bytes))
        return true;
    return false;
  }
  void release(uint64_t bytes) { left += bytes; }

private:
  std::atomic<uint64_t> left;
};

/// What a request has taken of it, and gives back in the end.
class Share {
public:
  explicit Share(Room &room) : room(room) {}
  ~Share() { room.release(taken); }
  Share(const Share &) = delete;
  Share &operator=(const Share &) = delete;

  bool growTo(uint64_t bytes) {
    if (bytes <= taken)
      return true;
    if (!room.take(bytes - taken))
      return false;
    taken = bytes;
    return true;
  }

private:
  Room &room;
  uint64_t taken = 0;
};

/// One client, on a thread of its own. Only what is asynchronous can be given
/// up when its time is over: each operation is started, and run to its end.
/// (Beast's own timeouts close the socket, so that nobody could be told.)
class Connection final : public HttpReply {
public:
  Connection(std::unique_ptr<asio::io_context> context, tcp::socket client,
             const HttpLimits &limits, Room &room, bool isOnce,
             const HttpHandlers &handlers)
      : context(std::move(context)), socket(std::move(client)),
        timer(*this->context), buffer(limits.headerBytes + bufferBytes),
        limits(limits), room(room), isOnce(isOnce), handlers(handlers) {}

  void run() {
    ignored = socket.set_option(tcp::no_delay(true), ignored);
    while (serveOne() && !closing) {
    }
    ignored = socket.shutdown(tcp::socket::shutdown_both, ignored);
  }

  /// Of another thread: lets every operation fail.
  void close() {
    closing = true;
    ::shutdown(socket.native_handle(), SHUT_RDWR);
  }

  void setAllowed(std::string methods) override {
    allowed = std::move(methods);
  }

  void reply(unsigned status, std::string_view contentType,
             std::string body) override {
    http::response<http::string_body> response(http::status(status), 11);
    response.set(http::field::content_type,
                 beast::string_view(contentType.data(), contentType.size()));
    if (status == 401)
      response.set(http::field::www_authenticate, "Bearer");
    if (status == 405)
      response.set(http::field::allow, allowed);
    response.body() = std::move(body);
    response.keep_alive(keepsAlive);
    response.prepare_payload();
    http::response_serializer<http::string_body> serializer(response);
    finish(in(limits.sendSeconds), [&](auto done) {
      if (isHead)
        http::async_write_header(socket, serializer, done);
      else
        http::async_write(socket, serializer, done);
    });
    replied = true;
  }

  bool send(std::string_view contentType, std::string_view part) override {
    if (!std::exchange(streams, true)) {
      replied = true;
      http::response<http::empty_body> response(http::status::ok, 11);
      response.set(http::field::content_type,
                   beast::string_view(contentType.data(), contentType.size()));
      response.set(http::field::cache_control, "no-cache");
      // To HTTP/1.0 a stream has no chunks, and ends with its connection.
      keepsAlive = keepsAlive && !isOld;
      response.keep_alive(keepsAlive);
      response.chunked(!isOld);
      http::response_serializer<http::empty_body> serializer(response);
      finish(in(limits.sendSeconds), [&](auto done) {
        http::async_write_header(socket, serializer, done);
      });
    }
    asio::const_buffer bytes(part.data(), part.size());
    if (!failure)
      finish(in(limits.sendSeconds), [&](auto done) {
        if (isOld)
          asio::async_write(socket, bytes, done);
        else
          asio::async_write(socket, http::make_chunk(bytes), done);
      });
    return !failure;
  }

  bool isGone() override {
    char next = 0;
    ssize_t got =
        ::recv(socket.native_handle(), &next, 1, MSG_PEEK | MSG_DONTWAIT);
    // Another request may have come already.
    return closing || failure || got == 0 ||
           (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK &&
            errno != EINTR);
  }

private:
  using Clock = std::chrono::steady_clock;

  static Clock::time_point in(double seconds) {
    return Clock::now() + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(seconds));
  }

  /// Runs `start(handler)` to its end, which is in `failure`: `timed_out` if it
  /// was not over at `until`.
  template <typename Start>
  void finish(Clock::time_point until, Start &&start) {
    bool isOver = false, isLate = false;
    timer.expires_at(until);
    timer.async_wait([&](error_code) {
      if (isOver)
        return;
      isLate = true;
      ignored = socket.cancel(ignored);
    });
    start([&](error_code error, size_t) {
      isOver = true;
      failure = error;
      timer.cancel();
    });
    context->restart();
    context->run();
    if (isLate && failure)
      failure = asio::error::timed_out;
  }

  void refuse(unsigned status, const std::string &message) {
    keepsAlive = false;
    reply(status, "application/json", handlers.refusal(status, message));
  }

  using Parser = http::request_parser<http::string_body>;

  /// Whether the client may ask again.
  bool serveOne() {
    Parser parser;
    parser.header_limit(uint32_t(limits.headerBytes));
    parser.body_limit(limits.bodyBytes);
    keepsAlive = replied = streams = isHead = isOld = false;
    Clock::time_point until = in(limits.receiveSeconds);
    finish(until, [&](auto done) {
      http::async_read_header(socket, buffer, parser, done);
    });
    if (failure)
      return leave(parser);
    // 1. What its head says.
    HttpRequest request = headOf(parser);
    isHead = parser.get().method() == http::verb::head;
    isOld = parser.get().version() < 11;
    bool mayStay = parser.keep_alive() && !isOnce;
    keepsAlive = mayStay && parser.is_done();
    handlers.admit(request, *this);
    if (!replied)
      askForBody(parser, until);
    if (replied || failure)
      return keepsAlive && !failure ? true : leave(parser);
    // 2. Its body.
    auto share = std::make_shared<Share>(room);
    bool hasRoom = true;
    while (!failure && hasRoom && !parser.is_done()) {
      finish(until, [&](auto done) {
        http::async_read_some(socket, buffer, parser, done);
      });
      hasRoom = share->growTo(parser.get().body().size());
    }
    if (failure || !hasRoom) {
      if (!failure)
        refuse(503, formatText("the requests that are being read have more "
                               "than %llu bytes: try again later",
                               wide(limits.bodiesBytes)));
      std::string().swap(parser.get().body());
      share.reset();
      return leave(parser);
    }
    // 3. What becomes of it.
    keepsAlive = mayStay;
    request.body = std::move(parser.get().body());
    request.share = std::move(share);
    handlers.handle(request, *this);
    if (!replied)
      refuse(500, "the request has no answer");
    if (streams && !isOld && !failure)
      finish(in(limits.sendSeconds), [&](auto done) {
        asio::async_write(socket, http::make_chunk_last(), done);
      });
    return keepsAlive && !failure;
  }

  static HttpRequest headOf(const Parser &parser) {
    const auto &message = parser.get();
    HttpRequest request;
    request.method = std::string(message.method_string());
    request.path = std::string(message.target());
    request.path.resize(std::min(request.path.find('?'), request.path.size()));
    request.authorization = std::string(message[http::field::authorization]);
    request.hasBody = !parser.is_done();
    return request;
  }

  /// For clients such as curl, which wait before they send much.
  void askForBody(const Parser &parser, Clock::time_point until) {
    beast::string_view expected = parser.get()[http::field::expect];
    if (expected.empty() || isOld)
      return;
    if (!beast::iequals(expected, "100-continue"))
      return refuse(417, "the server knows no 'Expect' but 100-continue");
    if (parser.is_done())
      return;
    http::response<http::empty_body> go(http::status::continue_, 11);
    finish(until, [&](auto done) { http::async_write(socket, go, done); });
  }

  /// Ends with a request that was not taken; returns false.
  bool leave(const Parser &parser) {
    if (failure && !replied)
      refuseHalf(parser.got_some());
    hearOut();
    return false;
  }

  /// Says why a request that is not whole is not taken, to who still listens.
  void refuseHalf(bool hasBegun) {
    error_code why = failure;
    failure = {};
    if (why == http::error::body_limit)
      refuse(413, formatText("the body has more than %llu bytes",
                             wide(limits.bodyBytes)));
    else if (why == http::error::header_limit)
      refuse(431, formatText("the headers have more than %llu bytes",
                             wide(limits.headerBytes)));
    else if (why == asio::error::timed_out && hasBegun)
      refuse(408, formatText("the request was not whole within %g seconds",
                             limits.receiveSeconds));
    else if (why == http::error::buffer_overflow)
      refuse(400, formatText("a chunk's head, or what follows the chunks, has "
                             "more than %llu bytes",
                             wide(limits.headerBytes)));
    else if (why.category() ==
                 http::make_error_code(http::error::bad_method).category() &&
             why != http::error::end_of_stream &&
             why != http::error::partial_message)
      refuse(400, "this is no HTTP request: " + why.message());
  }

  /// Reads on for a while what the client may still be sending: else its
  /// connection might be reset before it has read the reply.
  void hearOut() {
    constexpr double patience = 2;
    error_code failed = failure;
    ignored = socket.shutdown(tcp::socket::shutdown_send, ignored);
    std::array<char, 16 << 10> rest;
    for (Clock::time_point until = in(patience);
         !failure && !closing && Clock::now() < until;)
      finish(until, [&](auto done) {
        socket.async_read_some(asio::buffer(rest), done);
      });
    failure = failed;
  }

  /// Of the buffer, beside a head: a body goes through it in parts.
  static constexpr uint64_t bufferBytes = 64 << 10;

  const std::unique_ptr<asio::io_context> context;
  tcp::socket socket;
  asio::steady_timer timer;
  beast::flat_buffer buffer;
  const HttpLimits &limits;
  Room &room;
  const bool isOnce; ///< One request, then the connection ends.
  const HttpHandlers &handlers;
  std::atomic<bool> closing{false};
  bool keepsAlive = false, replied = false, streams = false;
  bool isHead = false; ///< Only the head of a reply is sent.
  bool isOld = false;  ///< HTTP/1.0.
  std::string allowed; ///< The methods of the path.
  error_code failure, ignored;
};

} // namespace

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

class HttpServer::Acceptor {
public:
  Acceptor(const HttpLimits &limits, HttpHandlers given)
      : limits(limits), room(limits.bodiesBytes), handlers(std::move(given)),
        tooMany(handlers), listener(context) {
    tooMany.admit = [this](const HttpRequest &, HttpReply &reply) {
      reply.reply(
          503, "application/json",
          handlers.refusal(
              503, formatText("%llu connections are open, the most that "
                              "this server takes: try again later",
                              wide(this->limits.connections))));
    };
  }

  Status open(const std::string &host, uint16_t port) {
    std::string place = host + formatText(":%u", unsigned(port));
    error_code error;
    tcp::resolver resolver(context);
    auto found = resolver.resolve(host, std::to_string(port),
                                  tcp::resolver::passive, error);
    if (error || found.empty())
      return invalidArgument(place + ": " + error.message());
    tcp::endpoint endpoint = *found.begin();
    error = listener.open(endpoint.protocol(), error);
    if (!error)
      error =
          listener.set_option(asio::socket_base::reuse_address(true), error);
    if (!error)
      error = listener.bind(endpoint, error);
    if (!error)
      error = listener.listen(asio::socket_base::max_listen_connections, error);
    if (error)
      return failedPrecondition("cannot listen on " + place + ": " +
                                error.message());
    chosen = listener.local_endpoint(error).port();
    thread = std::thread([this] { accept(); });
    return okStatus();
  }

  ~Acceptor() {
    stopping = true;
    if (thread.joinable())
      thread.join();
    {
      std::lock_guard lock(mutex);
      for (Client &client : clients)
        client.connection->close();
    }
    for (Client &client : clients)
      client.thread.join();
  }

  uint16_t port() const { return chosen; }

private:
  struct Client {
    std::unique_ptr<Connection> connection;
    std::thread thread;
    std::atomic<bool> isDone{false};
  };

  void accept() {
    while (!stopping) {
      auto own = std::make_unique<asio::io_context>(1);
      std::optional<tcp::socket> taken;
      tcp::socket socket(*own);
      bool hasFailed = false;
      listener.async_accept(socket, [&](error_code error) {
        hasFailed = bool(error);
        if (!error)
          taken = std::move(socket);
      });
      while (!taken && !stopping) {
        context.restart();
        context.run_one_for(std::chrono::milliseconds(200));
        removeDone();
        if (context.stopped() && !taken)
          break; // The client has left before it was seen.
      }
      if (taken)
        begin(std::move(own), std::move(*taken));
      else if (hasFailed && !stopping)
        // As without descriptors, which others have to give back.
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      else if (stopping) {
        error_code ignored;
        ignored = listener.cancel(ignored);
        context.restart();
        context.run();
      }
    }
  }

  void begin(std::unique_ptr<asio::io_context> own, tcp::socket socket) {
    removeDone();
    std::lock_guard lock(mutex);
    // A few more are told why they are not served.
    bool isFull = clients.size() >= limits.connections;
    if (clients.size() >= limits.connections + mostRefused)
      return;
    Client &client = clients.emplace_back();
    client.connection =
        std::make_unique<Connection>(std::move(own), std::move(socket), limits,
                                     room, isFull, isFull ? tooMany : handlers);
    client.thread = std::thread([&client] {
      client.connection->run();
      client.isDone = true;
    });
  }

  static constexpr uint64_t mostRefused = 16;

  void removeDone() {
    std::lock_guard lock(mutex);
    clients.remove_if([](Client &client) {
      if (client.isDone)
        client.thread.join();
      return client.isDone.load();
    });
  }

  const HttpLimits limits;
  Room room;
  const HttpHandlers handlers;
  HttpHandlers tooMany;
  asio::io_context context{1};
  tcp::acceptor listener;
  uint16_t chosen = 0;
  std::atomic<bool> stopping{false};
  std::mutex mutex;
  std::list<Client> clients;
  std::thread thread;
};

HttpServer::HttpServer(std::unique_ptr<Acceptor> acceptor)
    : acceptor(std::move(acceptor)) {}

HttpServer::~HttpServer() = default;

StatusOr<std::unique_ptr<HttpServer>>
HttpServer::listen(const std::string &host, uint16_t port,
                   const HttpLimits &limits, HttpHandlers handlers) {
  auto acceptor = std::make_unique<Acceptor>(limits, std::move(handlers));
  HOCKET_RETURN_IF_ERROR(acceptor->open(host, port));
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(acceptor)));
}

uint16_t HttpServer::port() const { return acceptor->port(); }
