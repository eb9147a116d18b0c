// One decode step of paged attention: a threadgroup for each q head of each sequence, which
// loads the rows of K and V again for every q head that shares them. It is what grouping, in
// paged_decode.metal, is compared with.
//
// The simdgroups of a threadgroup share out the tokens, each with an online softmax of its
// own in float32; there is no barrier in the loop over tokens. They are merged once, at the
// end, through threadgroup memory. Lane i owns the elements i, i + 32, ... of a head, so
// that a simdgroup reads 32 neighbours at a time, and head sizes need not be multiples of 32.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, D, BLOCK, KV_HEADS, GROUP, SIMDGROUPS   template values; GROUP = q heads of a kv head
//   q             T   [batch, q_heads, D]
//   k_pages       T   [blocks, BLOCK, KV_HEADS, D]
//   v_pages       T   [blocks, BLOCK, KV_HEADS, D]
//   block_tables  int [batch, max_blocks], flat
//   context_lens  int [batch]
//   max_blocks    int
//   scale         float
//   out           T   [batch, q_heads, D]

constant constexpr int LANES = 32;
constant constexpr float LOG2_E = 1.44269504088896340736f;

// ---- body ----
constexpr int OWNED = (D + LANES - 1) / LANES;

const int lane = int(thread_index_in_simdgroup);
const int simdgroup = int(simdgroup_index_in_threadgroup);
const int head = int(threadgroup_position_in_grid.x);
const int sequence = int(threadgroup_position_in_grid.y);
const int length = context_lens[sequence];
const size_t row = (size_t(sequence) * (KV_HEADS * GROUP) + head) * D;

// exp(x) = exp2(x log2(e)): the factor goes into the query once.
float query[OWNED];
float sum[OWNED];
for (int i = 0; i < OWNED; ++i) {
  const int d = lane + i * LANES;
  query[i] = d < D ? float(q[row + d]) * (scale * LOG2_E) : 0.0f;
  sum[i] = 0.0f;
}
float peak = -INFINITY;
float weights = 0.0f;

for (int token = simdgroup; token < length; token += SIMDGROUPS) {
  const int page = block_tables[sequence * max_blocks + token / BLOCK];
  const size_t at =
      ((size_t(page) * BLOCK + token % BLOCK) * KV_HEADS + head / GROUP) * D;
  float score = 0.0f;
  for (int i = 0; i < OWNED; ++i) {
    const int d = lane + i * LANES;
    score += d < D ? query[i] * float(k_pages[at + d]) : 0.0f;
  }
  score = simd_sum(score);

  const float higher = max(peak, score);
  const float kept = exp2(peak - higher);
  const float weight = exp2(score - higher);
  for (int i = 0; i < OWNED; ++i) {
    const int d = lane + i * LANES;
    sum[i] = sum[i] * kept + (d < D ? weight * float(v_pages[at + d]) : 0.0f);
  }
  weights = weights * kept + weight;
  peak = higher;
}

threadgroup float peaks[SIMDGROUPS];
threadgroup float totals[SIMDGROUPS];
threadgroup float sums[SIMDGROUPS * D];
if (lane == 0) {
  peaks[simdgroup] = peak;
  totals[simdgroup] = weights;
}
for (int i = 0; i < OWNED; ++i) {
  const int d = lane + i * LANES;
  if (d < D) {
    sums[simdgroup * D + d] = sum[i];
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

float highest = -INFINITY;
for (int g = 0; g < SIMDGROUPS; ++g) {
  highest = max(highest, peaks[g]);
}
for (int d = simdgroup * LANES + lane; d < D; d += SIMDGROUPS * LANES) {
  float total = 0.0f;
  float value = 0.0f;
  for (int g = 0; g < SIMDGROUPS; ++g) {
    // A simdgroup without tokens has a peak of -INFINITY and adds nothing.
    const float factor = totals[g] > 0.0f ? exp2(peaks[g] - highest) : 0.0f;
    total += factor * totals[g];
    value += factor * sums[g * D + d];
  }
  out[row + d] = T(total > 0.0f ? value / total : 0.0f);
}
