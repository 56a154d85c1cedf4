//===- ScheduleText.cpp - Schedules as text -------------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/ScheduleText.h"

#include "passes/planning/ShapeText.h"

#include <charconv>

using namespace hocket;
using namespace hocket::planning;

namespace {

/// Reads "BW3@1"; false if it is nothing of the kind.
bool readAction(std::string_view text, Action &action) {
  const char *at = text.data(), *last = at + text.size();
  auto letter = [&](char c) { return at != last && *at == c && ++at; };
  auto digits = [&](int32_t &value) {
    if (at == last || *at < '0' || *at > '9')
      return false;
    auto [stop, error] = std::from_chars(at, last, value);
    at = stop;
    return error == std::errc();
  };
  if (letter('F'))
    action.kind = ActionKind::F;
  else if (letter('W'))
    action.kind = ActionKind::W;
  else if (letter('B'))
    action.kind = letter('W') ? ActionKind::BW : ActionKind::B;
  else
    return false;
  action.chunk = 0;
  if (!digits(action.microbatch) || (letter('@') && !digits(action.chunk)))
    return false;
  return at == last;
}

bool isName(std::string_view text) {
  constexpr std::string_view letters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return text.size() <= 128 &&
         text.find_first_not_of(letters) == std::string_view::npos;
}

class ScheduleReader {
public:
  ScheduleReader(std::string_view file, std::string_view text)
      : lines(file, text), shape(lines) {}

  StatusOr<Schedule> read() {
    HOCKET_RETURN_IF_ERROR(lines.expectTitle("pipeline-schedule"));
    size_t i = 1;
    for (; i < lines.lines().size(); ++i) {
      const TextLine &line = lines.lines()[i];
      if (line[0].text == "rank")
        break;
      HOCKET_RETURN_IF_ERROR(readHead(line));
    }
    HOCKET_ASSIGN_OR_RETURN(schedule.shape, shape.finish());
    schedule.ranks.resize(schedule.shape.ranks);
    listed.resize(schedule.shape.ranks, false);
    for (; i < lines.lines().size(); ++i)
      HOCKET_RETURN_IF_ERROR(readActions(lines.lines()[i]));
    for (size_t rank = 0; rank < listed.size(); ++rank)
      if (!listed[rank])
        return lines.errorAtEnd("expected the list of rank " +
                                std::to_string(rank));
    return std::move(schedule);
  }

private:
  Status readHead(const TextLine &line) {
    HOCKET_RETURN_IF_ERROR(lines.expectWords(line, 2, 2));
    if (line[0].text == "name") {
      if (!schedule.name.empty())
        return lines.errorAt(line[0], "expected one name");
      if (!isName(line[1].text))
        return lines.errorAt(line[1], "expected a name of letters, digits, "
                                      "'-', '_' and '.'");
      schedule.name = line[1].text;
      return okStatus();
    }
    HOCKET_ASSIGN_OR_RETURN(bool taken, shape.take(line));
    if (!taken)
      return lines.errorAt(line[0], "expected name, ranks, chunks, "
                                    "microbatches, placement or rank");
    return okStatus();
  }

  Status readActions(const TextLine &line) {
    size_t first = 0;
    if (line[0].text == "rank") {
      if (line.size() < 2)
        return lines.expectWords(line, 2, 2);
      HOCKET_ASSIGN_OR_RETURN(
          rank, lines.whole(line[1], 0, schedule.shape.ranks - 1));
      if (listed[rank])
        return lines.errorAt(line[1], "expected one list for each rank");
      listed[rank] = true;
      first = 2;
    }
    for (size_t i = first; i < line.size(); ++i) {
      Action action;
      if (!readAction(line[i].text, action))
        return lines.errorAt(line[i], "expected an action like F0, B0, W0, "
                                      "BW0 or F0@1");
      schedule.ranks[rank].push_back(action);
    }
    return okStatus();
  }

  TextLines lines;
  ShapeText shape;
  Schedule schedule;
  std::vector<bool> listed;
  int64_t rank = 0;
};

} // namespace

StatusOr<Schedule> hocket::planning::readSchedule(std::string_view file,
                                                  std::string_view text) {
  return ScheduleReader(file, text).read();
}

std::string hocket::planning::writeSchedule(const Schedule &schedule) {
  constexpr size_t width = 80;
  std::string text = "pipeline-schedule\n";
  if (!schedule.name.empty())
    text += "name " + schedule.name + "\n";
  text += writtenShape(schedule.shape);
  for (size_t rank = 0; rank < schedule.ranks.size(); ++rank) {
    text += "rank " + std::to_string(rank) + "\n";
    std::string line = " ";
    for (const Action &action : schedule.ranks[rank]) {
      std::string word = " " + spelled(action);
      if (line.size() + word.size() > width) {
        text += line + "\n";
        line = " ";
      }
      line += word;
    }
    text += schedule.ranks[rank].empty() ? "" : line + "\n";
  }
  return text;
}
