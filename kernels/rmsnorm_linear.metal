// RMSNorm and the linear layer after it, in one: out = (x / rms(x) * gain) weight^T, where
// rms(x) = sqrt(mean(x^2) + eps) for each row of x.
//
// A threadgroup takes ROWS rows of x and SIMDGROUPS * COLUMNS columns of the output. It walks
// along the rows once, THREADS elements at a time: each thread brings one element of each row
// into threadgroup memory, times its gain, and adds its square to the row's sum. The factor
// 1 / rms is one number for a row, so it is applied at the end: no row is read twice. Each
// simdgroup has COLUMNS rows of the weight to itself, lane by lane, and loads each element
// once for all ROWS rows of x. Sums are float32.
//
// The tile of x has two buffers, which take turns, so that one barrier for each is enough.
//
// MLX builds the kernel of the text after the line that says body; what stands before it
// becomes the header. The body knows
//   T, ROWS, COLUMNS, VEC, SIMDGROUPS   template values; ROWS * COLUMNS <= 32, and VEC is 4
//                  where rows of the weight begin at multiples of 4 elements, or else 1
//   x         T    [rows, dims]
//   gain      T    [dims]
//   weight    T    [outputs, dims]
//   rows, dims, outputs   int
//   eps       float
//   out       T    [rows, outputs]
// and the grid: x = tiles of columns, y = tiles of rows.

constant constexpr int LANES = 32;

template <typename U>
inline void load_weights(const device U* from, thread float (&to)[1]) {
  to[0] = float(from[0]);
}

template <typename U>
inline void load_weights(const device U* from, thread float (&to)[4]) {
  const metal::vec<U, 4> four = *reinterpret_cast<const device metal::vec<U, 4>*>(from);
  to[0] = float(four[0]);
  to[1] = float(four[1]);
  to[2] = float(four[2]);
  to[3] = float(four[3]);
}

// ---- body ----
constexpr int THREADS = SIMDGROUPS * LANES;
constexpr int CHUNK = LANES * VEC;
constexpr int CHUNKS = THREADS / CHUNK;

const int lane = int(thread_index_in_simdgroup);
const int simdgroup = int(simdgroup_index_in_threadgroup);
const int at = simdgroup * LANES + lane;
const int first_row = int(threadgroup_position_in_grid.y) * ROWS;
const int first_column =
    (int(threadgroup_position_in_grid.x) * SIMDGROUPS + simdgroup) * COLUMNS;

threadgroup float tile[2 * ROWS * THREADS];
threadgroup float squares[SIMDGROUPS * ROWS];

float sums[COLUMNS][ROWS];
float square[ROWS];
for (int r = 0; r < ROWS; ++r) {
  square[r] = 0.0f;
  for (int c = 0; c < COLUMNS; ++c) {
    sums[c][r] = 0.0f;
  }
}

int buffer = 0;
for (int begin = 0; begin < dims; begin += THREADS) {
  // All loads of a turn are under way before the first is waited for.
  float weights[COLUMNS][CHUNKS][VEC];
  for (int c = 0; c < COLUMNS; ++c) {
    for (int chunk = 0; chunk < CHUNKS; ++chunk) {
      const int k = begin + chunk * CHUNK + lane * VEC;
      for (int i = 0; i < VEC; ++i) {
        weights[c][chunk][i] = 0.0f;
      }
      // VEC divides dims: either all its elements are there, or none.
      if (first_column + c < outputs && k < dims) {
        load_weights(weight + (size_t(first_column + c) * dims + k), weights[c][chunk]);
      }
    }
  }

  const int k = begin + at;
  const float factor = k < dims ? float(gain[k]) : 0.0f;
  for (int r = 0; r < ROWS; ++r) {
    const bool there = k < dims && first_row + r < rows;
    const float value = there ? float(x[size_t(first_row + r) * dims + k]) : 0.0f;
    square[r] += value * value;
    tile[(buffer * ROWS + r) * THREADS + at] = value * factor;
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);

  for (int chunk = 0; chunk < CHUNKS; ++chunk) {
    for (int r = 0; r < ROWS; ++r) {
      for (int i = 0; i < VEC; ++i) {
        const float value =
            tile[(buffer * ROWS + r) * THREADS + chunk * CHUNK + lane * VEC + i];
        for (int c = 0; c < COLUMNS; ++c) {
          sums[c][r] += weights[c][chunk][i] * value;
        }
      }
    }
  }
  buffer = 1 - buffer;
}

for (int r = 0; r < ROWS; ++r) {
  const float total = simd_sum(square[r]);
  if (lane == 0) {
    squares[simdgroup * ROWS + r] = total;
  }
}
threadgroup_barrier(mem_flags::mem_threadgroup);

// Lane c * ROWS + r keeps the sum of column c and row r, so that all are written at once.
float mine = 0.0f;
for (int c = 0; c < COLUMNS; ++c) {
  for (int r = 0; r < ROWS; ++r) {
    const float total = simd_sum(sums[c][r]);
    mine = lane == c * ROWS + r ? total : mine;
  }
}
const int row = first_row + lane % ROWS;
const int column = first_column + lane / ROWS;
if (lane < COLUMNS * ROWS && row < rows && column < outputs) {
  float total = 0.0f;
  for (int g = 0; g < SIMDGROUPS; ++g) {
    total += squares[g * ROWS + lane % ROWS];
  }
  out[size_t(row) * outputs + column] = T(mine * rsqrt(total / float(dims) + eps));
}
