//===- PlanPage.cpp - A searched plan as a page ---------------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "compiler/tools/PlanPage.h"

#include "compiler/tools/PlanReport.h"
#include "runtime/base/Format.h"

#include <algorithm>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr const char *style = R"(
body { font: 14px/1.5 sans-serif; margin: 2em auto; max-width: 1000px;
       color: #222; padding: 0 1em }
h1 { font-size: 1.5em } h2 { font-size: 1.1em; margin-top: 2em }
table { border-collapse: collapse } td, th { padding: 2px 12px 2px 0;
       text-align: left; vertical-align: top } td.n { text-align: right }
code { background: #f3f3f3; padding: 1px 4px } svg { max-width: 100% }
.f { fill: #4a90c2 } .b { fill: #5aa469 } .w { fill: #b8d8b8 }
.over { fill: #c0392b } .grid { stroke: #ccc } text { font-size: 11px }
)";

constexpr const char *colours[kMemoryItems] = {"#4a6fa5", "#7ba05b", "#c9a227",
                                               "#c46a4a", "#8e6bb0", "#888888"};

double gibibytes(int64_t bytes) { return double(bytes) / double(1 << 30); }

std::string escaped(const std::string &text) {
  std::string result;
  for (char c : text)
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    case '"':
      result += "&quot;";
      break;
    default:
      result += c;
    }
  return result;
}

std::string rect(double x, double y, double width, double height,
                 const std::string &attributes, const std::string &title) {
  return formatText("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" "
                    "height=\"%.1f\" %s><title>",
                    x, y, width, height, attributes.c_str()) +
         escaped(title) + "</title></rect>\n";
}

std::string label(double x, double y, const std::string &text) {
  return formatText("<text x=\"%.1f\" y=\"%.1f\">", x, y) + escaped(text) +
         "</text>\n";
}

/// The items of the price as a table.
std::string priceTable(const StepCost &cost) {
  std::string text = "<table id=\"price\">\n";
  for (const PriceItem &item : itemsOf(cost)) {
    if (item.value == 0)
      continue;
    bool time = item.kind == "time";
    double total = double(time ? cost.nanoseconds() : cost.bytes());
    text += "<tr><td>" + escaped(item.name) +
            formatText("</td><td class=\"n\">%.3f %s</td>"
                       "<td class=\"n\">%.1f %%</td></tr>\n",
                       time ? double(item.value) * 1e-6 : gibibytes(item.value),
                       time ? "ms" : "GiB", 100 * double(item.value) / total);
  }
  return text + formatText("<tr><th>time</th><td class=\"n\" id=\"time\" "
                           "data-nanoseconds=\"%lld\">%.3f ms</td></tr>\n"
                           "<tr><th>memory</th><td class=\"n\" id=\"memory\" "
                           "data-bytes=\"%lld\">%.3f GiB</td></tr>\n</table>\n",
                           (long long)cost.nanoseconds(), cost.seconds() * 1e3,
                           (long long)cost.bytes(), gibibytes(cost.bytes()));
}

/// Texts beside points of a plot, left of `right` and above `bottom`, where
/// they cover no other.
class PointLabels {
public:
  PointLabels(double right, double bottom) : right(right), bottom(bottom) {}

  /// The text beside (x, y) as SVG: right or left of it, above or below; empty
  /// where all four places are taken.
  std::string place(double x, double y, const std::string &text) {
    double width = 7 * double(text.size());
    for (double dy : {-4.0, 14.0})
      for (double left : {x + 8, x - 8 - width}) {
        Box box{left, y + dy - height, width};
        bool isInside = left >= 62 && left + width <= right && y + dy <= bottom;
        if (!isInside || isTaken(box))
          continue;
        taken.push_back(box);
        return label(left, y + dy, text);
      }
    return "";
  }

private:
  struct Box {
    double x, y, width;
  };
  static constexpr double height = 13;

  bool isTaken(Box box) const {
    return std::any_of(taken.begin(), taken.end(), [&](Box other) {
      return box.x < other.x + other.width && other.x < box.x + box.width &&
             box.y < other.y + height && other.y < box.y + height;
    });
  }

  double right, bottom;
  std::vector<Box> taken;
};

std::string line(double x, double y, double toX, double toY,
                 const char *attributes) {
  return formatText("<line %s x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" "
                    "y2=\"%.1f\"/>\n",
                    attributes, x, y, toX, toY);
}

/// Time up, memory across.
std::string frontPlot(const std::vector<PricedPlan> &front, int64_t capacity) {
  constexpr double width = 640, height = 260, left = 60, top = 30;
  constexpr const char *grid = "class=\"grid\"";
  double most = double(capacity), slowest = 0, fastest = 1e300;
  for (const PricedPlan &plan : front) {
    most = std::max(most, double(plan.cost.bytes()));
    slowest = std::max(slowest, plan.cost.seconds());
    fastest = std::min(fastest, plan.cost.seconds());
  }
  double low = 0.95 * fastest, high = 1.05 * slowest;
  auto x = [&](double bytes) { return left + bytes / most * width; };
  auto y = [&](double seconds) {
    return top + height - (seconds - low) / (high - low) * height;
  };
  double right = left + width, bottom = top + height;
  std::string text =
      formatText("<svg id=\"pareto\" width=\"%.0f\" height=\"%.0f\">\n",
                 right + 90, bottom + 24) +
      line(left, bottom, right, bottom, grid) +
      line(left, top, left, bottom, grid) +
      label(0, top - 14, "seconds a step");
  constexpr int steps = 4;
  for (int i = 0; i <= steps; ++i) {
    double seconds = low + (high - low) * i / steps, bytes = most * i / steps;
    text += label(10, y(seconds) + 4, formatText("%.3g", seconds));
    text += label(x(bytes) - 8, bottom + 16,
                  formatText("%.0f%s", bytes / double(1 << 30),
                             i == steps ? " GiB a device" : ""));
  }
  double limit = x(double(capacity));
  text += line(limit, top, limit, bottom, "stroke=\"#c0392b\"") +
          label(limit - 40, top - 14,
                formatText("a device's %.0f GiB", gibibytes(capacity)));
  PointLabels labels(right + 90, bottom);
  for (const PricedPlan &plan : front) {
    double seconds = plan.cost.seconds(), bytes = double(plan.cost.bytes());
    text += formatText("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"5\" class=\"f\">"
                       "<title>",
                       x(bytes), y(seconds)) +
            escaped(printPlan(plan.plan)) + "</title></circle>\n" +
            labels.place(x(bytes), y(seconds),
                         formatText("%.3f s, %.1f GiB", seconds,
                                    gibibytes(plan.cost.bytes())));
  }
  return text + "</svg>\n";
}

std::string memoryBars(const StepCost &cost, int64_t capacity) {
  constexpr double width = 700, row = 14;
  double most = std::max(double(capacity), double(cost.bytes()));
  std::string text =
      formatText("<svg id=\"ranks\" width=\"%.0f\" height=\"%.0f\">\n",
                 width + 160, row * double(cost.memory.size()) + 30);
  for (size_t rank = 0; rank < cost.memory.size(); ++rank) {
    double x = 60, y = row * double(rank);
    text += label(0, y + 10, "rank " + std::to_string(rank));
    for (size_t item = 0; item < kMemoryItems; ++item) {
      int64_t bytes = cost.memory[rank].items[item];
      double wide = double(bytes) / most * width;
      text +=
          rect(x, y, wide, row - 3, formatText("fill=\"%s\"", colours[item]),
               std::string(spelled(MemoryItem(item))) +
                   formatText(" %.2f GiB", gibibytes(bytes)));
      x += wide;
    }
    text += label(x + 4, y + 10,
                  formatText("%.1f GiB", gibibytes(cost.memory[rank].total())));
  }
  double limit = 60 + double(capacity) / most * width;
  double end = row * double(cost.memory.size());
  text += formatText("<line stroke=\"#c0392b\" x1=\"%.1f\" y1=\"0\" "
                     "x2=\"%.1f\" y2=\"%.0f\"/>\n",
                     limit, limit, end);
  double x = 60;
  for (size_t item = 0; item < kMemoryItems; ++item, x += 100) {
    text +=
        rect(x, end + 8, 10, 10, formatText("fill=\"%s\"", colours[item]), "");
    text += label(x + 14, end + 17, std::string(spelled(MemoryItem(item))));
  }
  return text + "</svg>\n";
}

const char *classOf(ActionKind kind) {
  switch (kind) {
  case ActionKind::F:
    return "class=\"f\"";
  case ActionKind::W:
    return "class=\"w\"";
  case ActionKind::B:
  case ActionKind::BW:
    return "class=\"b\"";
  }
  return "";
}

/// The passes of every rank up to a time by which at most this many began.
constexpr size_t mostPasses = 5000;

StatusOr<std::string> gantt(const CostProblem &problem,
                            const ParallelPlan &plan) {
  HOCKET_ASSIGN_OR_RETURN(PlayedPlan played, playPlan(problem, plan));
  const auto &[schedule, timeline] = played;
  std::vector<double> starts;
  for (const RankTimeline &rank : timeline.ranks)
    for (const ActionTime &time : rank.times)
      starts.push_back(time.start);
  std::sort(starts.begin(), starts.end());
  bool all = starts.size() <= mostPasses;
  double until = all ? timeline.makespan : starts[mostPasses];
  constexpr double width = 880;
  double row = 14;
  std::string text = formatText(
      "<p>%s %.1f ms; blue: forward, green: backward, light: weights.</p>\n"
      "<svg id=\"gantt\" width=\"%.0f\" height=\"%.0f\">\n",
      all ? "All of" : "The first", until * 1e-6, width + 60,
      row * double(timeline.ranks.size()));
  for (size_t rank = 0; rank < timeline.ranks.size(); ++rank) {
    double y = row * double(rank);
    text += label(0, y + 10, "rank " + std::to_string(rank));
    const std::vector<ActionTime> &times = timeline.ranks[rank].times;
    for (size_t i = 0; i < times.size() && times[i].start < until; ++i) {
      const Action &action = schedule.ranks[rank][i];
      double end = std::min(times[i].end, until);
      text += rect(60 + times[i].start / until * width, y,
                   std::max(0.1, (end - times[i].start) / until * width - 0.2),
                   row - 3, classOf(action.kind), spelled(action));
    }
  }
  return text + "</svg>\n";
}

std::string neighbourTable(const std::vector<Neighbour> &neighbours) {
  std::string text = "<table id=\"neighbours\">\n<tr><th>change</th>"
                     "<th>plan</th><th>why not</th></tr>\n";
  for (const Neighbour &neighbour : neighbours)
    text += "<tr><td><code>" + escaped(neighbour.change) +
            "</code></td><td><code>" + escaped(neighbour.plan) +
            "</code></td><td>" + escaped(neighbour.reason) + "</td></tr>\n";
  return text + "</table>\n";
}

} // namespace

StatusOr<std::string> hocket::planPage(const PlanPageContent &content) {
  const CostProblem &problem = content.problem;
  const PricedPlan &best = content.result.best[0];
  int64_t capacity = problem.system.device().memory_bytes();
  HOCKET_ASSIGN_OR_RETURN(std::string passes, gantt(problem, best.plan));
  std::string title = problem.model.name + " on " +
                      std::to_string(problem.devices) + " x " +
                      problem.system.name();
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head><meta "
         "charset=\"utf-8\"><title>" +
         escaped(title) +
         "</title>\n<link rel=\"icon\" href=\"data:,\">\n"
         "<style>" +
         style + "</style></head>\n<body>\n<h1>" + escaped(title) +
         "</h1>\n<p><code id=\"plan\">" + escaped(printPlan(best.plan)) +
         "</code></p>\n<p>" + escaped(summaryText(problem, best.cost)) +
         formatText(".</p>\n<p>No plan that fits is faster under the cost "
                    "model by more than %.2f %%: %lld plans were bounded, "
                    "%lld priced.</p>\n",
                    100 * content.result.gap(), (long long)content.result.fine,
                    (long long)content.result.priced) +
         "<h2>Price of a step</h2>\n" + priceTable(best.cost) +
         "<h2>Time against memory</h2>\n" + frontPlot(content.front, capacity) +
         "<h2>Memory of ranks</h2>\n" + memoryBars(best.cost, capacity) +
         "<h2>When each pass runs</h2>\n" + passes +
         "<h2>Rejected neighbours</h2>\n" + neighbourTable(content.neighbours) +
         "</body>\n</html>\n";
}
