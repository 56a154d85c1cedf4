//===- HttpClient.h - Asks a server --------------------------- -*- C++ -*-===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#ifndef HOCKET_RUNTIME_SERVE_HTTPCLIENT_H
#define HOCKET_RUNTIME_SERVE_HTTPCLIENT_H

#include "base/Status.h"

#include <functional>
#include <string>
#include <string_view>

namespace hocket::serve {

/// Where a server listens.
struct HttpAddress {
  std::string host, port;

  /// "http://HOST:PORT" or "HOST:PORT"; port 80 without one. InvalidArgument
  /// for anything else: https, a path.
  static StatusOr<HttpAddress> parse(const std::string &url);
};

struct HttpAnswer {
  unsigned status = 0;
  std::string body; ///< Of what did not go to `part`.
};

/// Sends one POST and reads the answer. Of status 200, `part` hears each piece
/// of the body as it comes. Unavailable if nobody answers; DataLoss if what
/// comes is no HTTP, or ends too early.
StatusOr<HttpAnswer> post(const HttpAddress &address, const std::string &path,
                          const std::string &body, const std::string &key,
                          const std::function<void(std::string_view)> &part);

} // namespace hocket::serve

#endif // HOCKET_RUNTIME_SERVE_HTTPCLIENT_H
