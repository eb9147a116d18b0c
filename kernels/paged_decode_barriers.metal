// One decode step of paged attention as a first attempt looks: a threadgroup for each q head
// of each sequence, which takes one token after the other, all threads together. A token costs
// three barriers, thread 0 adds its products up alone, elements are loaded one by one, and
// rows of K and V are loaded again for every q head that shares them. It is here to be seen in
// a trace beside paged_decode.metal.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, D, BLOCK, GROUP, THREADS  template values; GROUP = q heads of a kv head
//   q, k_pages, v_pages, block_tables, context_lens, max_blocks, scale, out
//                                as paged_decode.metal does
// and the grid: x = q heads, y = sequences.

// ---- body ----
constexpr int OWNED = (D + THREADS - 1) / THREADS;

const int thread_index = int(thread_position_in_threadgroup.x);
const int head = int(threadgroup_position_in_grid.x);
const int sequence = int(threadgroup_position_in_grid.y);
const int q_heads = int(threadgroups_per_grid.x);
const int kv_heads = q_heads / GROUP;
const int length = context_lens[sequence];
const size_t row = (size_t(sequence) * q_heads + head) * D;

threadgroup float shared[D];  // the products of a token, then the two factors made of them
float sum[OWNED];
for (int i = 0; i < OWNED; ++i) {
  sum[i] = 0.0f;
}
float peak = -INFINITY;
float total = 0.0f;

for (int token = 0; token < length; ++token) {
  const int page = block_tables[sequence * max_blocks + token / BLOCK];
  const size_t at =
      ((size_t(page) * BLOCK + token % BLOCK) * kv_heads + head / GROUP) * D;
  for (int d = thread_index; d < D; d += THREADS) {
    shared[d] = float(q[row + d]) * float(k_pages[at + d]);
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  if (thread_index == 0) {
    float score = 0.0f;
    for (int d = 0; d < D; ++d) {
      score += shared[d];
    }
    score *= scale;
    const float higher = max(peak, score);
    shared[0] = exp(peak - higher);
    shared[1] = exp(score - higher);
    peak = higher;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  const float kept = shared[0];
  const float weight = shared[1];
  total = total * kept + weight;
  for (int i = 0; i < OWNED; ++i) {
    const int d = thread_index + i * THREADS;
    if (d < D) {
      sum[i] = sum[i] * kept + weight * float(v_pages[at + d]);
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
}

for (int i = 0; i < OWNED; ++i) {
  const int d = thread_index + i * THREADS;
  if (d < D) {
    out[row + d] = T(total > 0.0f ? sum[i] / total : 0.0f);
  }
}
