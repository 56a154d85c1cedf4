//===- TorchStore.cpp - The store of torchrun's agent ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/comm/process/TorchStore.h"

#include "base/Format.h"

#include <thread>

using namespace hocket;
using namespace hocket::comm;

static constexpr uint64_t valueLimit = 4096;

namespace {
enum class Query : uint8_t { Validate = 0, Set = 1, Get = 3, Check = 5 };

/// The bytes of a query.
class QueryText {
public:
  explicit QueryText(Query query) { add(query); }
  template <typename T> QueryText &add(T value) {
    bytes.append(reinterpret_cast<const char *>(&value), sizeof(value));
    return *this;
  }
  QueryText &addText(const std::string &text) {
    add(uint64_t(text.size()));
    bytes += text;
    return *this;
  }
  const std::string &text() const { return bytes; }

private:
  std::string bytes;
};
} // namespace

StatusOr<TorchStore> TorchStore::connect(const std::string &host, uint16_t port,
                                         double seconds) {
  Deadline deadline(seconds);
  std::string name = formatText("%s:%u", host.c_str(), port);
  while (true) {
    auto socket = connectTo(host, port, std::max(1.0, deadline.left()));
    if (socket.ok()) {
      TorchStore store(*std::move(socket), name);
      std::string query =
          QueryText(Query::Validate).add(uint32_t(0x3C85F7CE)).text();
      HOCKET_RETURN_IF_ERROR(store.ask(query, {}));
      return store;
    }
    if (deadline.hasPassed())
      return socket.status().withContext("the store of torchrun's agent");
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

Status TorchStore::nonsense(const std::string &what) const {
  return unavailable("what listens at " + name +
                     " (MASTER_ADDR:MASTER_PORT) is not the store of "
                     "torchrun's agent, of PyTorch 2.1 or later: " +
                     what);
}

Status TorchStore::ask(const std::string &query, std::span<char> answer) {
  Status status = writeAll(socket, query, kSecondsForAnswer);
  if (status.ok())
    status = readAll(socket, answer, kSecondsForAnswer);
  return status.ok() ? status : nonsense(status.message());
}

StatusOr<bool> TorchStore::has(const std::string &key) {
  uint8_t answer = 0;
  HOCKET_RETURN_IF_ERROR(
      ask(QueryText(Query::Check).add(uint64_t(1)).addText(key).text(),
          bytesOf(answer)));
  if (answer > 1)
    return nonsense(formatText("it answers %u where 0 or 1 is meant", answer));
  return answer == 0;
}

Status TorchStore::set(const std::string &key, const std::string &value) {
  HOCKET_RETURN_IF_ERROR(
      ask(QueryText(Query::Set).addText(key).addText(value).text(), {}));
  HOCKET_ASSIGN_OR_RETURN(bool isThere, has(key));
  return isThere ? okStatus() : nonsense("it does not keep what it is given");
}

StatusOr<std::optional<std::string>> TorchStore::get(const std::string &key) {
  HOCKET_ASSIGN_OR_RETURN(bool isThere, has(key));
  if (!isThere)
    return std::optional<std::string>();
  uint64_t length = 0;
  HOCKET_RETURN_IF_ERROR(
      ask(QueryText(Query::Get).addText(key).text(), bytesOf(length)));
  if (length > valueLimit)
    return nonsense(formatText("a value of %llu bytes, at most %llu are meant",
                               (unsigned long long)length,
                               (unsigned long long)valueLimit));
  std::string value(length, '\0');
  HOCKET_RETURN_IF_ERROR(ask("", value));
  return std::optional<std::string>(std::move(value));
}
