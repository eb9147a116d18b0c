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

constant constexpr float LOWEST = -3.0e38f;  // the highest score of a partition without tokens

// ---- body ----
const int d = int(thread_position_in_threadgroup.x);
const size_t head = size_t(threadgroup_position_in_grid.y) * threadgroups_per_grid.x +
                    threadgroup_position_in_grid.x;
const size_t row = head * partitions;

float highest = LOWEST;
for (int i = 0; i < partitions; ++i) {
  highest = max(highest, stats[(row + i) * 2]);
}
float total = 0.0f;
float value = 0.0f;
for (int i = 0; i < partitions; ++i) {
  const float factor = exp2(stats[(row + i) * 2] - highest);
  total += factor * stats[(row + i) * 2 + 1];
  value += factor * sums[(row + i) * D + d];
}
out[head * D + d] = T(total > 0.0f ? value / total : 0.0f);
