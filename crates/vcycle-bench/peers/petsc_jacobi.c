/* PETSc: a hundred iterations of conjugate gradients with Jacobi. */
#define PRECONDITIONER PCJACOBI
#define ITERATIONS 100
#define REDUCTION 1e-300
#include "petsc.c"
