//===- Trie.cpp - The strings that a text begins with ---------------------===//
//
// Part of Hocket, under the Apache License v2.0.
//
//===----------------------------------------------------------------------===//

#include "runtime/tokenizer/text/Trie.h"

#include <algorithm>
#include <deque>

using namespace hocket::tokenizer;

namespace {
/// The strings [begin, end) all lead to `node`, by their first `depth` bytes.
struct Range {
  Trie::Node node;
  size_t begin, end, depth;
};
} // namespace

bool Trie::build(std::vector<std::pair<std::string_view, int32_t>> strings) {
  std::sort(strings.begin(), strings.end()); // Of equal ones the least first.
  nodes.assign(1, Entry());
  rootNext.assign(256, none);
  std::deque<Range> open = {{root, 0, strings.size(), 0}};
  while (!open.empty()) {
    Range range = open.front();
    open.pop_front();
    size_t at = range.begin;
    for (; at < range.end && strings[at].first.size() == range.depth; ++at)
      if (nodes[range.node].value < 0)
        nodes[range.node].value = strings[at].second;
    nodes[range.node].children = uint32_t(nodes.size());
    while (at < range.end) {
      char byte = strings[at].first[range.depth];
      size_t first = at;
      while (at < range.end && strings[at].first[range.depth] == byte)
        ++at;
      if (nodes.size() >= mostNodes) {
        nodes.clear();
        rootNext.clear();
        return false;
      }
      auto node = Node(nodes.size());
      nodes.push_back({0, -1, 0, uint8_t(byte)});
      ++nodes[range.node].childCount;
      if (range.node == root)
        rootNext[uint8_t(byte)] = node;
      open.push_back({node, first, at, range.depth + 1});
    }
  }
  return true;
}

Trie::Match Trie::longest(std::string_view text) const {
  Match match;
  Node node = root;
  for (size_t i = 0; i < text.size(); ++i) {
    node = next(node, uint8_t(text[i]));
    if (node == none)
      break;
    if (value(node) >= 0)
      match = {value(node), i + 1};
  }
  return match;
}
