// The judge of a running solve on the device; stop/monitor.rs says what its words mean.
//
//   A   type of norms: f64, f32, c64 or c32; those of complex types have no imaginary part
//
// The state is an array of doubles: a head with the stop requests of ranks, then one array a field with a number a column, then
// the norms of the last RING iterations.

#define HEAD 4
#define ITERATION 0
#define ACTIVE 1
#define REQUESTS 2

#define STATUS 0
#define GOAL 1
#define LIMIT 2
#define NORM 3
#define BEST 4
#define BEST_ITERATION 5
#define ITERATIONS 6
#define FIELDS 7

#define GOES_ON 0
#define CONVERGED 1
#define ITERATION_LIMIT 2
#define STAGNATED 3
#define DIVERGED 4
#define NON_FINITE 5

#define FIELD(name) state[HEAD + (name)*cols + column]

FUNCTION int is_finite(double value) { return value - value == 0.0; }

// How a column ends with this norm, or that it goes on.
FUNCTION int verdict(double norm, double goal, double limit, double waited, double left, double window) {
  if (!is_finite(norm)) return NON_FINITE;
  if (norm == 0.0 || norm <= goal) return CONVERGED;
  if (norm > limit) return DIVERGED;
  if (left <= 0.0) return ITERATION_LIMIT;
  if (window > 0.0 && waited >= window) return STAGNATED;
  return GOES_ON;
}

FUNCTION void observe(GLOBAL double *state, u32 cols, u32 column, double norm, double iteration,
                      double iterations, double window) {
  double best = FIELD(BEST);
  FIELD(NORM) = norm;
  FIELD(ITERATIONS) = iteration;
  if (norm < 0.9 * best) {
    FIELD(BEST) = norm;
    FIELD(BEST_ITERATION) = iteration;
  }
  FIELD(STATUS) = (double)verdict(norm, FIELD(GOAL), FIELD(LIMIT), iteration - FIELD(BEST_ITERATION),
                                  iterations - iteration, window);
}

// Counts the columns that go on and tells them apart for the method's updates. One block.
FUNCTION void activate(GLOBAL double *state, GLOBAL A *active, u32 cols) {
  for (u32 column = thread_of_block(); column < cols; column += BLOCK) {
    active[column] = FIELD(STATUS) == GOES_ON ? OF_REAL(A, 1) : (A)0;
  }
  if (thread_of_block() == 0) {
    u32 count = 0;
    for (u32 column = 0; column < cols; column++) count += FIELD(STATUS) == GOES_ON;
    state[ACTIVE] = (double)count;
  }
}

// Counts an iteration and takes the residual norms after it, and the stop requests of all ranks, where there are any; nothing
// where all have ended.
KERNEL judge(GLOBAL const A *norms, GLOBAL double *state, GLOBAL A *active, u32 cols, u32 ring,
             double iterations, double window, GLOBAL const double *requests) {
  if (state[ACTIVE] == 0.0) return;
  double iteration = state[ITERATION] + 1.0;
  BARRIER();
  u64 slot = HEAD + (u64)FIELDS * cols + ((u64)iteration % ring) * cols;
  for (u32 column = thread_of_block(); column < cols; column += BLOCK) {
    if (FIELD(STATUS) == GOES_ON) {
      observe(state, cols, column, (double)REAL_PART(A, norms[column]), iteration, iterations, window);
    }
    state[slot + column] = FIELD(NORM);
  }
  if (thread_of_block() == 0) {
    state[ITERATION] = iteration;
    if (requests) FOR(k, 2) state[REQUESTS + k] = requests[k];
  }
  BARRIER();
  activate(state, active, cols);
}

// Ends with `status` the columns whose value is below `bound`, or equal to it where `equal` says so;
// whatever is not finite ends as that.
KERNEL require(GLOBAL const A *values, GLOBAL double *state, GLOBAL A *active, u32 cols,
               double status, u32 below, u32 equal) {
  for (u32 column = thread_of_block(); column < cols; column += BLOCK) {
    double value = (double)REAL_PART(A, values[column]);
    if (FIELD(STATUS) != GOES_ON) continue;
    if (!is_finite(value)) {
      FIELD(STATUS) = NON_FINITE;
    } else if ((below && value < 0.0) || (equal && value == 0.0)) {
      FIELD(STATUS) = status;
    } else {
      continue;
    }
    FIELD(ITERATIONS) = state[ITERATION];
  }
  BARRIER();
  activate(state, active, cols);
}
