// The branches at which lanes of one simdgroup part, for kernels that were compiled to note them.
//
// Lanes run one after the other, so each has a number for where it is: it depends on the branches
// that the lane is under and on its ways there. Lanes with the same number at a branch are at it
// together. Where all ways of a branch join, each lane gets the number that it would have had on
// any other way, as the lanes of a GPU wait for each other there.
#pragma once
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "interface.hpp"

namespace tracekit {

constexpr uint64_t PARTED = ~0ull;

// A branch that a lane is under: its number before, and the block at which the ways join.
struct OpenBranch {
  uint64_t place;
  unsigned function, join;
};

struct LanePath {
  uint64_t place = 0;
  std::vector<OpenBranch> open;
};

inline uint64_t mix(uint64_t seed, uint64_t value) {
  uint64_t mixed = seed * 0x9e3779b97f4a7c15ull + value + 0x632be59bd9b4e019ull;
  mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebull;
  return mixed ^ (mixed >> 31);
}

// The paths of the threads of one threadgroup, and the ways that were taken at each branch.
class Paths {
 public:
  void branch(unsigned thread, unsigned function, unsigned block, unsigned join, uint64_t way) {
    if (lanes_.size() <= thread) lanes_.resize(MOST_THREADS);
    if (ways_.empty()) ways_.resize(MOST_THREADS / LANES);
    LanePath& lane = lanes_[thread];
    const uint64_t branch = mix(mix(lane.place, function), block);
    const auto [at, is_first] = ways_[thread / LANES].try_emplace(branch, way);
    if (!is_first && at->second != way) at->second = PARTED;
    if (lane.open.empty() || !is_open(lane, function, join)) {
      lane.open.push_back({lane.place, function, join});
    }
    lane.place = mix(branch, way);
  }

  void join(unsigned thread, unsigned function, unsigned block) {
    if (thread >= lanes_.size()) return;
    LanePath& lane = lanes_[thread];
    if (!lane.open.empty() && is_open(lane, function, block)) close(lane);
  }

  void leave(unsigned thread, unsigned function) {
    if (thread >= lanes_.size()) return;
    LanePath& lane = lanes_[thread];
    while (!lane.open.empty() && lane.open.back().function == function) close(lane);
  }

  // Returns how many branches parted lanes, and forgets them.
  uint64_t take_parted() {
    uint64_t parted = 0;
    for (auto& ways : ways_) {
      for (const auto& [branch, way] : ways) parted += way == PARTED;
      ways.clear();
    }
    for (LanePath& lane : lanes_) {
      lane.place = 0;
      lane.open.clear();
    }
    return parted;
  }

 private:
  static bool is_open(const LanePath& lane, unsigned function, unsigned join) {
    return lane.open.back().function == function && lane.open.back().join == join;
  }

  static void close(LanePath& lane) {
    const OpenBranch& branch = lane.open.back();
    lane.place = mix(mix(branch.place, branch.function), ~uint64_t(branch.join));
    lane.open.pop_back();
  }

  std::vector<LanePath> lanes_;
  std::vector<std::unordered_map<uint64_t, uint64_t>> ways_;
};

}  // namespace tracekit
