//===- HttpClient.cpp - Asks a server -------------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/serve/HttpClient.h"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <charconv>

using namespace hocket;
using namespace hocket::serve;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using asio::ip::tcp;

StatusOr<HttpAddress> HttpAddress::parse(const std::string &url) {
  constexpr std::string_view scheme = "http://";
  std::string rest = url;
  if (rest.starts_with(scheme))
    rest.erase(0, scheme.size());
  if (rest.ends_with('/'))
    rest.pop_back();
  HttpAddress address{rest, "80"};
  // An IPv6 address has colons of its own, and stands in brackets.
  size_t colon = rest.rfind(':');
  if (colon != rest.npos && rest.find(']', colon) == rest.npos) {
    address.host = rest.substr(0, colon);
    address.port = rest.substr(colon + 1);
  }
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  uint16_t port = 0;
  const char *end = address.port.data() + address.port.size();
  auto [stop, failed] = std::from_chars(address.port.data(), end, port);
  bool isPort = failed == std::errc() && stop == end && port > 0;
  if (address.host.empty() || address.host.find('/') != rest.npos || !isPort)
    return invalidArgument("'" + url +
                           "' is no address of a server: give "
                           "http://HOST:PORT");
  return address;
}

namespace {

/// One request over one connection.
class Exchange {
public:
  Exchange(const HttpAddress &address,
           const std::function<void(std::string_view)> &part)
      : address(address), part(part), socket(context) {}

  StatusOr<HttpAnswer> run(const http::request<http::string_body> &request) {
    tcp::resolver resolver(context);
    auto found = resolver.resolve(address.host, address.port, error);
    if (!error)
      asio::connect(socket, found, error);
    if (error)
      return unavailable(place() + ": " + error.message() +
                         "; is the server running (hocket serve)?");
    http::write(socket, request, error);
    if (!error)
      return read();
    // A server that refuses a request need not read all of it.
    Status unsent = unavailable(place() + ": " + error.message());
    error = {};
    auto refused = read();
    return refused.ok() ? refused : unsent;
  }

private:
  std::string place() const { return address.host + ":" + address.port; }

  StatusOr<HttpAnswer> read() {
    constexpr uint64_t mostBytes = uint64_t(1) << 30;
    http::response_parser<http::buffer_body> parser;
    parser.body_limit(mostBytes);
    beast::flat_buffer buffer(size_t(1) << 20); // Also of a chunk's head.
    http::read_header(socket, buffer, parser, error);
    HttpAnswer answer{parser.get().result_int(), ""};
    std::string piece(size_t(16) << 10, '\0');
    while (!error && !parser.is_done()) {
      auto &body = parser.get().body();
      body.data = piece.data();
      body.size = piece.size();
      http::read_some(socket, buffer, parser, error);
      if (error == http::error::need_buffer)
        error = {};
      std::string_view got(piece.data(), piece.size() - body.size);
      if (answer.status == 200 && part)
        part(got);
      else
        answer.body += got;
    }
    if (error)
      return dataLoss(place() +
                      " does not answer as a server does: " + error.message());
    return answer;
  }

  const HttpAddress &address;
  const std::function<void(std::string_view)> &part;
  asio::io_context context;
  tcp::socket socket;
  boost::system::error_code error;
};

} // namespace

StatusOr<HttpAnswer>
serve::post(const HttpAddress &address, const std::string &path,
            const std::string &body, const std::string &key,
            const std::function<void(std::string_view)> &part) {
  http::request<http::string_body> request(http::verb::post, path, 11);
  request.set(http::field::host, address.host);
  request.set(http::field::content_type, "application/json");
  if (!key.empty())
    request.set(http::field::authorization, "Bearer " + key);
  request.body() = body;
  request.prepare_payload();
  request.keep_alive(false);
  return Exchange(address, part).run(request);
}
