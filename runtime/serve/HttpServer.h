//===- HttpServer.h - Requests over HTTP, within limits ------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HTTP/1.1 by Boost.Beast, for handlers that know nothing of sockets. Whoever
/// connects is hostile until its request is whole: headers, bodies, connections
/// and the time that each part may take are limited.
///
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_HTTPSERVER_H
#define HOCKET_RUNTIME_SERVE_HTTPSERVER_H

#include "base/Status.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace hocket::serve {

struct HttpLimits {
  uint64_t headerBytes = 16 << 10;
  uint64_t bodyBytes = uint64_t(64) << 20;
  /// Of all requests at a time, until a handler has dropped their bodies.
  uint64_t bodiesBytes = uint64_t(256) << 20;
  uint64_t connections = 64;
  double receiveSeconds = 30; ///< For a whole request, and between two.
  double sendSeconds = 30;    ///< For a reply, or for a part of a stream.
};

struct HttpRequest {
  std::string method;        ///< "GET"
  std::string path;          ///< "/v1/models", without what follows a '?'.
  std::string body;          ///< Empty before it is read.
  std::string authorization; ///< The header's value, or "".
  bool hasBody = false;      ///< Or will have.

  /// Frees the body, and its share of HttpLimits::bodiesBytes.
  void dropBody();
  std::shared_ptr<const void> share = {}; ///< Gives it back once it is gone.
};

/// How a request is answered: by one reply(), or by parts of a stream.
class HttpReply {
public:
  virtual ~HttpReply() = default;

  /// The methods of the path, as the header Allow has them; before a reply 405.
  virtual void setAllowed(std::string methods) = 0;

  /// `contentType` as in the header, `body` whole.
  virtual void reply(unsigned status, std::string_view contentType,
                     std::string body) = 0;

  /// Begins a stream (chunked) or goes on with it; it ends with the handler.
  /// Whether the client still listens.
  virtual bool send(std::string_view contentType, std::string_view part) = 0;

  /// Whether the client has closed its connection.
  virtual bool isGone() = 0;
};

/// What becomes of requests. Called on threads of the connections; what they
/// throw is a defect.
struct HttpHandlers {
  /// Sees a request once its head is there. If it replies, the request is over:
  /// its body is neither read nor kept, and a client that waits to be asked for
  /// it (Expect: 100-continue) is not.
  std::function<void(const HttpRequest &head, HttpReply &)> admit;
  /// Replies to one that is whole.
  std::function<void(HttpRequest &, HttpReply &)> handle;
  /// The body, JSON, of what is refused before either sees it.
  std::function<std::string(unsigned status, const std::string &message)>
      refusal;
};

class HttpServer {
public:
  /// Listens on `host`, an address or a name, and `port`; 0: one that is free.
  static StatusOr<std::unique_ptr<HttpServer>> listen(const std::string &host,
                                                      uint16_t port,
                                                      const HttpLimits &limits,
                                                      HttpHandlers handlers);

  /// Closes all connections, and waits for the handlers.
  ~HttpServer();
  HttpServer(const HttpServer &) = delete;
  HttpServer &operator=(const HttpServer &) = delete;

  uint16_t port() const;

private:
  class Acceptor;
  explicit HttpServer(std::unique_ptr<Acceptor> acceptor);
  std::unique_ptr<Acceptor> acceptor;
};

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_HTTPSERVER_H
