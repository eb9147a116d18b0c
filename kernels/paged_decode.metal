// One decode step of paged attention. A threadgroup takes the q heads of one kv head (HEADS of
// them at a time, where registers would not hold all), one sequence and one partition of its
// tokens, and loads each row of K and V once for all of those heads.
//
// A row is spread over ROW_LANES lanes, HD_TILE elements on each, in loads of 16 bytes. So a
// simdgroup has SLOTS tokens side by side, and takes TOKENS of each slot at a time. As soon as
// the K of such a tile is used, that of the next is loaded in its place, and so with V. Each slot
// has an online softmax of its own in float32, its lanes add up scores by shuffles, and there is
// no barrier in the loop over tokens. Slots are merged by shuffles, simdgroups through
// threadgroup memory, partitions by paged_merge.metal.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, D, BLOCK, GROUP  template values; GROUP = q heads of a kv head
//   HD_TILE, HEADS, TOKENS, SIMDGROUPS  how the work is shared out; TOKENS is a power of two
//   q             T   [batch, q_heads, D]; this and the pages begin at a multiple of 16 bytes
//   k_pages       T   [blocks, BLOCK, kv_heads, D]
//   v_pages       T   [blocks, BLOCK, kv_heads, D]
//   block_tables  int [batch, max_blocks], flat
//   context_lens  int [batch]
//   max_blocks    int
//   scale         float
//   out           T     [batch, q_heads, D], written if there is one partition
//   sums          float [batch, q_heads, partitions, D], written if there are several: the
//                       values, weighted relative to the partition's peak
//   stats         float [batch, q_heads, partitions, 2]: the peak, the sum of the weights
// and the grid: x = kv heads * shares of their q heads, y = sequences, z = partitions.

// Arrays indexed in a loop that is not unrolled would lie in memory instead of registers.
#define UNROLLED _Pragma("clang loop unroll(full)")

constant constexpr int LANES = 32;
constant constexpr float LOG2_E = 1.44269504088896340736f;
// Lower than any score, and finite, so that a difference of two is never NaN.
constant constexpr float LOWEST = -3.0e38f;
// The peak follows scores only once one exceeds it by so much: weights stay below 2^8, float32
// loses nothing by that, and sums are seldom rescaled.
constant constexpr float MARGIN = 8.0f;
constant constexpr int SCRATCH = 16384;  // bytes of threadgroup memory for sums

// 16 bytes as floats; the last argument only says of which type they are.
inline void unpack(uint4 bits, thread float* to, float) {
  to[0] = as_type<float>(bits.x);
  to[1] = as_type<float>(bits.y);
  to[2] = as_type<float>(bits.z);
  to[3] = as_type<float>(bits.w);
}

inline void unpack_pair(uint bits, thread float* to, float16_t) {
  const half2 pair = as_type<half2>(bits);
  to[0] = float(pair.x);
  to[1] = float(pair.y);
}

// A bfloat16 is the upper half of a float32.
inline void unpack_pair(uint bits, thread float* to, bfloat16_t) {
  to[0] = as_type<float>(bits << 16);
  to[1] = as_type<float>(bits & 0xffff0000u);
}

template <typename U>
inline void unpack(uint4 bits, thread float* to, U type) {
  unpack_pair(bits.x, to, type);
  unpack_pair(bits.y, to + 2, type);
  unpack_pair(bits.z, to + 4, type);
  unpack_pair(bits.w, to + 6, type);
}

// What one lane loads of ROWS rows, `apart` elements from each other: chunks of 16 bytes, WIDTH
// chunks from each other, of which a row has CHUNKS. The lane's first chunk, `column`, is at
// `from`.
template <int ROWS, int LOADS, int WIDTH, int CHUNKS, typename U>
inline void load_rows(const device U* from, uint apart, int column, thread uint4* to) {
  constexpr int CHUNK = 16 / int(sizeof(U));
  UNROLLED for (int row = 0; row < ROWS; ++row) {
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      uint4 bits = uint4(0);
      if (CHUNKS == LOADS * WIDTH || column + load * WIDTH < CHUNKS) {
        bits = *reinterpret_cast<const device uint4*>(
            from + (uint(row) * apart + load * WIDTH * CHUNK));
      }
      to[row * LOADS + load] = bits;
    }
  }
}

// ---- body ----
constexpr int CHUNK = 16 / int(sizeof(T));
constexpr int CHUNKS = D / CHUNK;
constexpr int LOADS = HD_TILE / CHUNK;
constexpr int NEEDED = (D + HD_TILE - 1) / HD_TILE;
constexpr int ROW_LANES = NEEDED <= 4 ? 4 : NEEDED <= 8 ? 8 : NEEDED <= 16 ? 16 : 32;
constexpr int SLOTS = LANES / ROW_LANES;
constexpr int TILE = SLOTS * TOKENS;
constexpr int STEP = SIMDGROUPS * TILE;
constexpr int TOKEN_LANES = ROW_LANES / TOKENS;
constexpr int SHARES = (GROUP + HEADS - 1) / HEADS;

const int lane = int(thread_index_in_simdgroup);
const int simdgroup = int(simdgroup_index_in_threadgroup);
const int column = lane % ROW_LANES;
const int slot = lane / ROW_LANES;
const int owned = column / TOKEN_LANES;  // of a slot's tokens, the one whose weight is made here
const int kv_heads = int(threadgroups_per_grid.x) / SHARES;
const int kv_head = int(threadgroup_position_in_grid.x) / SHARES;
const int share = int(threadgroup_position_in_grid.x) % SHARES;
const int sequence = int(threadgroup_position_in_grid.y);
const int partition = int(threadgroup_position_in_grid.z);
const int partitions = int(threadgroups_per_grid.z);
const int heads = min(HEADS, GROUP - share * HEADS);
// The row, in q and out, of this threadgroup's first q head.
const int first = (sequence * kv_heads + kv_head) * GROUP + share * HEADS;

const int length = context_lens[sequence];
const int pages = (length + BLOCK - 1) / BLOCK;
const int taken = (pages + partitions - 1) / partitions * BLOCK;
const int begin = min(length, partition * taken);
const int end = min(length, begin + taken);
// Whole tiles, each in one page, come first; what is left, or all where pages are shorter than
// a tile, is taken one token of each slot at a time.
const int whole = BLOCK % TILE == 0 ? begin + (end - begin) / TILE * TILE : begin;

const int table = sequence * max_blocks;
const uint token_size = uint(kv_heads * D);
const uint page_size = uint(BLOCK) * token_size;
const uint apart = uint(SLOTS) * token_size;
const size_t corner = size_t(kv_head * D + column * CHUNK);  // of this lane, in a row's heads

uint4 keys[TOKENS * LOADS];
uint4 values[TOKENS * LOADS];
const size_t corner_of_slot = corner + uint(slot) * token_size;
int tile = begin + simdgroup * TILE;
if (tile < whole) {
  const size_t at = size_t(uint(block_tables[table + uint(tile) / BLOCK])) * page_size +
                    uint(tile) % BLOCK * token_size + corner_of_slot;
  load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(k_pages + at, apart, column, keys);
  load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(v_pages + at, apart, column, values);
}

// exp(x) = exp2(x log2(e)): the factor goes into the query once.
float query[HEADS][HD_TILE];
float sum[HEADS][HD_TILE];
float peak[HEADS];
float weight[HEADS];
UNROLLED for (int head = 0; head < HEADS; ++head) {
  peak[head] = LOWEST;
  weight[head] = 0.0f;
  UNROLLED for (int load = 0; load < LOADS; ++load) {
    const int chunk = column + load * ROW_LANES;
    uint4 bits = uint4(0);
    if (chunk < CHUNKS && head < heads) {
      bits = *reinterpret_cast<const device uint4*>(
          q + size_t(first + head) * D + chunk * CHUNK);
    }
    unpack(bits, query[head] + load * CHUNK, T(0));
  }
  UNROLLED for (int e = 0; e < HD_TILE; ++e) {
    query[head][e] *= scale * LOG2_E;
    sum[head][e] = 0.0f;
  }
}

while (tile < whole) {
  const int next = tile + STEP;
  const int page = next < whole ? block_tables[table + uint(next) / BLOCK] : 0;
  float scores[HEADS][TOKENS];
  UNROLLED for (int i = 0; i < TOKENS; ++i) {
    float key[HD_TILE];
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      unpack(keys[i * LOADS + load], key + load * CHUNK, T(0));
    }
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      float score = 0.0f;
      UNROLLED for (int e = 0; e < HD_TILE; ++e) {
        score += query[head][e] * key[e];
      }
      scores[head][i] = score;
    }
  }
  const size_t at = size_t(uint(page)) * page_size + uint(next) % BLOCK * token_size +
                    corner_of_slot;
  if (next < whole) {
    load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(k_pages + at, apart, column, keys);
  }

  // Add up what the lanes of a row have. At each level a lane gives half of its tokens away
  // and takes the other lane's part of the rest, until it owns one token.
  UNROLLED for (int level = 1; level < ROW_LANES; level *= 2) {
    const int held = TOKENS / (2 * level);
    const ushort offset = ushort(ROW_LANES / (2 * level));
    const bool upper = (column & int(offset)) != 0;
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      if (held == 0) {
        scores[head][0] += simd_shuffle_xor(scores[head][0], offset);
      }
      UNROLLED for (int i = 0; i < held; ++i) {
        const float given = upper ? scores[head][i] : scores[head][i + held];
        const float kept = upper ? scores[head][i + held] : scores[head][i];
        scores[head][i] = kept + simd_shuffle_xor(given, offset);
      }
    }
  }

  bool high = false;
  UNROLLED for (int head = 0; head < HEADS; ++head) {
    high = high || scores[head][0] > peak[head] + MARGIN;
  }
  if (simd_any(high)) {
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      float higher = max(peak[head], scores[head][0]);
      UNROLLED for (int offset = ROW_LANES / 2; offset >= TOKEN_LANES; offset /= 2) {
        higher = max(higher, simd_shuffle_xor(higher, ushort(offset)));
      }
      const float kept = exp2(peak[head] - higher);
      peak[head] = higher;
      weight[head] *= kept;
      UNROLLED for (int e = 0; e < HD_TILE; ++e) {
        sum[head][e] *= kept;
      }
    }
  }
  UNROLLED for (int head = 0; head < HEADS; ++head) {
    const float own = exp2(scores[head][0] - peak[head]);
    weight[head] += own;
    UNROLLED for (int i = 0; i < TOKENS; ++i) {
      scores[head][i] = simd_shuffle(own, ushort(slot * ROW_LANES + i * TOKEN_LANES));
    }
  }

  UNROLLED for (int i = 0; i < TOKENS; ++i) {
    float value[HD_TILE];
    UNROLLED for (int load = 0; load < LOADS; ++load) {
      unpack(values[i * LOADS + load], value + load * CHUNK, T(0));
    }
    UNROLLED for (int head = 0; head < HEADS; ++head) {
      UNROLLED for (int e = 0; e < HD_TILE; ++e) {
        sum[head][e] += scores[head][i] * value[e];
      }
    }
  }
  if (next < whole) {
    load_rows<TOKENS, LOADS, ROW_LANES, CHUNKS>(v_pages + at, apart, column, values);
  }
  tile = next;
}

for (int tokens = whole + simdgroup * SLOTS; tokens < end; tokens += SIMDGROUPS * SLOTS) {
  const int token = tokens + slot;
  uint4 rest[2 * LOADS];
  UNROLLED for (int load = 0; load < 2 * LOADS; ++load) {
    rest[load] = uint4(0);
  }
  if (token < end) {
    const size_t at = size_t(uint(block_tables[table + uint(token) / BLOCK])) * page_size +
                      uint(token) % BLOCK * token_size + corner;
    load_rows<1, LOADS, ROW_LANES, CHUNKS>(k_pages + at, apart, column, rest);
    load_rows<1, LOADS, ROW_LANES, CHUNKS>(v_pages + at, apart, column, rest + LOADS);
  }
  float key[HD_TILE];
  float value[HD_TILE];
  UNROLLED for (int load = 0; load < LOADS; ++load) {
    unpack(rest[load], key + load * CHUNK, T(0));
    unpack(rest[LOADS + load], value + load * CHUNK, T(0));
  }
  UNROLLED for (int head = 0; head < HEADS; ++head) {
    float score = 0.0f;
    UNROLLED for (int e = 0; e < HD_TILE; ++e) {
      score += query[head][e] * key[e];
    }
    UNROLLED for (int offset = ROW_LANES / 2; offset > 0; offset /= 2) {
      score += simd_shuffle_xor(score, ushort(offset));
    }
    score = token < end ? score : -INFINITY;
    const float higher = max(peak[head], score);
    const float kept = exp2(peak[head] - higher);
    const float own = exp2(score - higher);
    peak[head] = higher;
    // The lanes of a slot add up their weights at the end: all of them have this one.
    weight[head] = weight[head] * kept + (owned == 0 ? own : 0.0f);
    UNROLLED for (int e = 0; e < HD_TILE; ++e) {
      sum[head][e] = sum[head][e] * kept + own * value[e];
    }
  }
}

UNROLLED for (int head = 0; head < HEADS; ++head) {
  UNROLLED for (int offset = ROW_LANES / 2; offset >= TOKEN_LANES; offset /= 2) {
    weight[head] += simd_shuffle_xor(weight[head], ushort(offset));
  }
  UNROLLED for (int offset = ROW_LANES; offset < LANES; offset *= 2) {
    const float other = simd_shuffle_xor(peak[head], ushort(offset));
    const float higher = max(peak[head], other);
    const float mine = exp2(peak[head] - higher);
    const float theirs = exp2(other - higher);
    peak[head] = higher;
    weight[head] = weight[head] * mine +
                   simd_shuffle_xor(weight[head], ushort(offset)) * theirs;
    UNROLLED for (int e = 0; e < HD_TILE; ++e) {
      sum[head][e] = sum[head][e] * mine +
                     simd_shuffle_xor(sum[head][e], ushort(offset)) * theirs;
    }
  }
}

// As many heads at a time as the scratch holds.
constexpr int FITTING = SCRATCH / (SIMDGROUPS * D * 4);
constexpr int AT_ONCE = FITTING < 1 ? 1 : FITTING < HEADS ? FITTING : HEADS;
threadgroup float peaks[HEADS * SIMDGROUPS];
threadgroup float weights[HEADS * SIMDGROUPS];
threadgroup float partial[AT_ONCE * SIMDGROUPS * D];
if (lane == 0) {
  UNROLLED for (int head = 0; head < HEADS; ++head) {
    peaks[head * SIMDGROUPS + simdgroup] = peak[head];
    weights[head * SIMDGROUPS + simdgroup] = weight[head];
  }
}
UNROLLED for (int from = 0; from < HEADS; from += AT_ONCE) {
  if (from > 0) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
  }
  // Element i of chunk c stands at i * CHUNKS + c: neighbouring lanes, neighbouring words.
  UNROLLED for (int head = from; head < HEADS && head < from + AT_ONCE; ++head) {
    UNROLLED for (int e = 0; e < HD_TILE; ++e) {
      const int chunk = column + e / CHUNK * ROW_LANES;
      if (slot == 0 && chunk < CHUNKS) {
        partial[((head - from) * SIMDGROUPS + simdgroup) * D + e % CHUNK * CHUNKS + chunk] =
            sum[head][e];
      }
    }
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  const int merged = min(AT_ONCE, heads - from);
  for (int at = simdgroup * LANES + lane; at < merged * D; at += SIMDGROUPS * LANES) {
    const int head = from + at / D;
    const int place = at % D;
    const int d = place % CHUNKS * CHUNK + place / CHUNKS;
    float highest = LOWEST;
    for (int g = 0; g < SIMDGROUPS; ++g) {
      highest = max(highest, peaks[head * SIMDGROUPS + g]);
    }
    float total = 0.0f;
    float value = 0.0f;
    for (int g = 0; g < SIMDGROUPS; ++g) {
      // A simdgroup without tokens has the lowest peak, no weight, and adds nothing.
      const float factor = exp2(peaks[head * SIMDGROUPS + g] - highest);
      total += factor * weights[head * SIMDGROUPS + g];
      value += factor * partial[((head - from) * SIMDGROUPS + g) * D + place];
    }
    if (partitions == 1) {
      out[size_t(first + head) * D + d] = T(total > 0.0f ? value / total : 0.0f);
    } else {
      const size_t row = size_t(first + head) * partitions + partition;
      sums[row * D + d] = value;
      if (d == 0) {
        stats[row * 2] = highest;
        stats[row * 2 + 1] = total;
      }
    }
  }
}
