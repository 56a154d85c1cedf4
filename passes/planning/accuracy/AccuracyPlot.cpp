//===- AccuracyPlot.cpp - Predicted against measured, drawn ---------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "passes/planning/accuracy/AccuracyPlot.h"

#include "base/Format.h"

#include <algorithm>
#include <cmath>

using namespace hocket;
using namespace hocket::planning;

namespace {

constexpr double side = 220, margin = 44;

/// One group's panel.
class Panel {
public:
  Panel(std::string name, double left, double top)
      : name(std::move(name)), left(left), top(top) {}

  void add(const RowPrediction &row) { rows.push_back(&row); }
  bool empty() const { return rows.empty(); }
  std::string draw();

private:
  double place(double seconds) const {
    return (std::log10(seconds) - low) / (high - low) * side;
  }
  std::string line(double factor, const char *style) const;
  std::string ticks() const;

  std::string name;
  double left, top, low = 0, high = 1;
  std::vector<const RowPrediction *> rows;
};

std::string Panel::line(double factor, const char *style) const {
  double shift = std::log10(factor) / (high - low) * side;
  double from = std::max(0.0, -shift), to = std::min(side, side - shift);
  return formatText("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
                    "%s/>\n",
                    from, side - from - shift, to, side - to - shift, style);
}

std::string Panel::ticks() const {
  std::string text;
  for (double power = std::ceil(low); power <= std::floor(high); ++power) {
    double at = (power - low) / (high - low) * side;
    text += formatText("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g s"
                       "</text>\n<text x=\"-4\" y=\"%.1f\" "
                       "text-anchor=\"end\">%g s</text>\n",
                       at, side + 14, std::pow(10, power), side - at + 4,
                       std::pow(10, power));
  }
  return text;
}

std::string Panel::draw() {
  double least = INFINITY, most = 0;
  for (const RowPrediction *row : rows) {
    least = std::min({least, row->predicted, row->row.measured});
    most = std::max({most, row->predicted, row->row.measured});
  }
  low = std::min(std::log10(least) - 0.1, std::floor(std::log10(most)) - 0.01);
  high = std::max(std::log10(most) + 0.1, std::ceil(std::log10(least)) + 0.01);
  std::string text =
      formatText("<g transform=\"translate(%.0f %.0f)\">\n", left, top);
  text += formatText("<rect width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
                     "stroke=\"#999\"/>\n<text x=\"0\" y=\"-6\" "
                     "font-weight=\"bold\">%s</text>\n",
                     side, side, name.c_str());
  text += line(1, "stroke=\"#444\"") + line(1.1, "stroke=\"#bbb\"") +
          line(1 / 1.1, "stroke=\"#bbb\"") + ticks();
  for (const RowPrediction *row : rows)
    text += formatText(
        "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"2.2\" stroke=\"#2563a8\" "
        "stroke-width=\"0.7\" fill=\"%s\"/>\n",
        place(row->row.measured), side - place(row->predicted),
        row->heldOut ? "#2563a8" : "none");
  return text + "</g>\n";
}

} // namespace

std::string planning::plotAccuracy(const std::vector<RowPrediction> &rows) {
  std::vector<Panel> panels;
  double left = margin;
  for (const std::string &group : groupsOf(rows)) {
    Panel panel(group, left, 24);
    for (const RowPrediction &row : rows)
      if (row.row.group == group && row.skipped.empty() &&
          row.row.quantity == Quantity::Seconds)
        panel.add(row);
    if (panel.empty())
      continue;
    panels.push_back(std::move(panel));
    left += side + margin;
  }
  std::string text = formatText(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" "
      "height=\"%.0f\" font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n",
      left, side + 50);
  for (Panel &panel : panels)
    text += panel.draw();
  return text + "</svg>\n";
}
