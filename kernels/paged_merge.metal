// Merge the partitions of paged_decode.metal: a threadgroup for each q head of each sequence,
// a thread for each element of a head.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, D          template values
//   sums          float [batch, q_heads, partitions, D]
//   stats         float [batch, q_heads, partitions, 2]: highest score, sum of weights
//   partitions    int
//   out           T     [batch, q_heads, D]

#define UNROLLED _Pragma("clang loop unroll(full)")

constant constexpr float LOWEST = -3.0e38f;  // the highest score of a partition without tokens

// ---- body ----
const int d = int(thread_position_in_threadgroup.x);
const size_t head = size_t(threadgroup_position_in_grid.y) * threadgroups_per_grid.x +
                    threadgroup_position_in_grid.x;
const size_t row = head * partitions;

// Many partitions at a time, so that no load waits for another.
constexpr int AT_ONCE = 16;
float highest = LOWEST;
float total = 0.0f;
float value = 0.0f;
for (int from = 0; from < partitions; from += AT_ONCE) {
  float peaks[AT_ONCE];
  float weights[AT_ONCE];
  float values[AT_ONCE];
  float higher = highest;
  UNROLLED for (int i = 0; i < AT_ONCE; ++i) {
    peaks[i] = LOWEST;
    weights[i] = 0.0f;
    values[i] = 0.0f;
    if (from + i < partitions) {
      peaks[i] = stats[(row + from + i) * 2];
      weights[i] = stats[(row + from + i) * 2 + 1];
      values[i] = sums[(row + from + i) * D + d];
    }
    higher = max(higher, peaks[i]);
  }
  const float kept = exp2(highest - higher);
  highest = higher;
  total *= kept;
  value *= kept;
  UNROLLED for (int i = 0; i < AT_ONCE; ++i) {
    const float factor = exp2(peaks[i] - highest);
    total += factor * weights[i];
    value += factor * values[i];
  }
}
out[head * D + d] = T(total > 0.0f ? value / total : 0.0f);
