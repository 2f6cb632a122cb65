/* A preconditioner of PETSc, loaded at run time into programs that know nothing of it:
 *
 *     PETSC_OPTIONS="-dll_append /path/libvcyclepetsc.so" ./program -pc_type vcycle -pc_vcycle_options "rtol=1e-10"
 *
 *   -pc_vcycle_options TEXT      options of vcycle, one line of pairs, TOML or JSON
 *   -pc_vcycle_solve             a whole solve in place of one cycle, for -ksp_type preonly
 *   -pc_vcycle_blocks            a hierarchy for the block of each process, in place of one for all
 *   -pc_vcycle_keep_levels BOOL  new values in the same pattern update the levels instead of a new set-up (true)
 *
 * Block size, near-nullspace (MatSetNearNullSpace) and coordinates (PCSetCoordinates) are those of the matrix and the PC.
 * Only public headers are used: the PC is a shell with another name, and what it needs is in a container. */
#include <petscksp.h>
#include <string.h>
#include <unistd.h>

#include <vcycle.h>

#define CONTAINER "vcycle"

typedef struct {
    vcycle_solver *solver;
    PetscInt dimension, nodes;
    PetscReal *coordinates;
    /* What the set-up was made for. */
    PetscObjectId matrix;
    PetscObjectState pattern;
    PetscBool solve, keep_levels, blocks;
    PetscMPIInt processes;
} Data;

/* Errors of vcycle as errors of PETSc. */
#define VcycleCall(call)                                                                                                           \
    do {                                                                                                                           \
        int32_t code_ = (call);                                                                                                    \
        PetscCheck(code_ == VCYCLE_OK, PETSC_COMM_SELF,                                                                            \
                   code_ == VCYCLE_ERROR_MEMORY ? PETSC_ERR_MEM                                                                    \
                   : code_ == VCYCLE_ERROR_OPTION || code_ == VCYCLE_ERROR_ARGUMENT ? PETSC_ERR_ARG_WRONG                          \
                                                                                    : PETSC_ERR_LIB,                               \
                   "vcycle: %s", vcycle_last_error());                                                                             \
    } while (0)

static PetscErrorCode DataOf(PC pc, Data **data)
{
    PetscContainer container;

    PetscFunctionBegin;
    PetscCall(PetscObjectQuery((PetscObject)pc, CONTAINER, (PetscObject *)&container));
    PetscCheck(container, PetscObjectComm((PetscObject)pc), PETSC_ERR_ARG_WRONGSTATE, "this PC is none of vcycle");
    PetscCall(PetscContainerGetPointer(container, (void **)data));
    PetscFunctionReturn(0);
}

static PetscErrorCode DataFree(void *pointer)
{
    Data *data = (Data *)pointer;

    PetscFunctionBegin;
    vcycle_free(data->solver);
    PetscCall(PetscFree(data->coordinates));
    PetscCall(PetscFree(data));
    PetscFunctionReturn(0);
}

static PetscErrorCode SetCoordinates(PC pc, PetscInt dimension, PetscInt nodes, PetscReal *coordinates)
{
    Data *data;

    PetscFunctionBegin;
    PetscCall(DataOf(pc, &data));
    PetscCall(PetscFree(data->coordinates));
    data->dimension = data->nodes = 0;
    if (dimension > 0) {
        PetscCall(PetscMalloc1(dimension * nodes, &data->coordinates));
        PetscCall(PetscArraycpy(data->coordinates, coordinates, dimension * nodes));
        data->dimension = dimension;
        data->nodes = nodes;
    }
    PetscFunctionReturn(0);
}

/* Where nothing is said about threads, the processes of a node share its cores. */
static PetscErrorCode CreateSolver(PC pc, Data *data)
{
    char given[4096] = "", options[4200];
    const char *prefix;
    PetscMPIInt sharing;
    MPI_Comm node;
    long cores = sysconf(_SC_NPROCESSORS_ONLN);

    PetscFunctionBegin;
    PetscCall(PCGetOptionsPrefix(pc, &prefix));
    PetscCall(PetscOptionsGetString(NULL, prefix, "-pc_vcycle_options", given, sizeof given, NULL));
    PetscCall(PetscOptionsGetBool(NULL, prefix, "-pc_vcycle_solve", &data->solve, NULL));
    PetscCall(PetscOptionsGetBool(NULL, prefix, "-pc_vcycle_keep_levels", &data->keep_levels, NULL));
    PetscCall(PetscOptionsGetBool(NULL, prefix, "-pc_vcycle_blocks", &data->blocks, NULL));
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &data->processes));
    PetscCallMPI(MPI_Comm_split_type(PetscObjectComm((PetscObject)pc), MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node));
    PetscCallMPI(MPI_Comm_size(node, &sharing));
    PetscCallMPI(MPI_Comm_free(&node));
    if (sharing > 1 && !strpbrk(given, "\"'[{\n") && !strstr(given, "threads=") && !strstr(given, "device=")) {
        PetscCall(PetscSNPrintf(options, sizeof options, "%s threads=%ld", given, cores > sharing ? cores / sharing : 1));
    } else {
        PetscCall(PetscStrncpy(options, given, sizeof options));
    }
    VcycleCall(vcycle_create(options, &data->solver));
    PetscFunctionReturn(0);
}

/* The rows and columns of this process, as compressed rows; *made is to be destroyed unless it is NULL. */
static PetscErrorCode LocalMatrix(Mat given, Mat *local, Mat *made)
{
    PetscBool sequential, compressed;
    PetscMPIInt size;

    PetscFunctionBegin;
    *made = NULL;
    PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)given), &size));
    sequential = (PetscBool)(size == 1);
    PetscCall(PetscObjectTypeCompareAny((PetscObject)given, &compressed, MATSEQAIJ, MATSEQBAIJ, MATSEQSBAIJ, ""));
    if (sequential && compressed) *local = given;
    else PetscCall(MatGetDiagonalBlock(given, local));
    PetscCall(PetscObjectTypeCompare((PetscObject)*local, MATSEQAIJ, &compressed));
    if (!compressed) {
        PetscCall(MatConvert(*local, MATSEQAIJ, MAT_INITIAL_MATRIX, made));
        *local = *made;
    }
    PetscFunctionReturn(0);
}

/* Unknowns of a node, and what the matrix nearly annihilates. */
static PetscErrorCode TellWhatIsKnown(Data *data, Mat matrix)
{
    PetscInt block_size, count, rows, nodes;
    PetscReal none = 0.0;
    MatNullSpace near;
    const Vec *vectors;
    PetscBool has_constant;
    PetscReal *all;

    PetscFunctionBegin;
    PetscCall(MatGetBlockSize(matrix, &block_size));
    PetscCall(MatGetLocalSize(matrix, &rows, NULL));
    VcycleCall(vcycle_set_block_size(data->solver, (int32_t)block_size));
#if defined(PETSC_USE_REAL_DOUBLE)
    nodes = data->nodes;
    if (data->dimension > 0 && (nodes * data->dimension == rows || nodes == rows)) {
        VcycleCall(vcycle_set_coordinates(data->solver, (int32_t)data->dimension, nodes, data->coordinates ? data->coordinates : &none));
    }
#endif
    PetscCall(MatGetNearNullSpace(matrix, &near));
    if (!near) PetscFunctionReturn(0);
    PetscCall(MatNullSpaceGetVecs(near, &has_constant, &count, &vectors));
    if (has_constant && block_size > 1) has_constant = PETSC_FALSE;
    if (count == 0) PetscFunctionReturn(0);
    PetscCall(PetscMalloc1((count + has_constant) * rows, &all));
    for (PetscInt place = 0; place < count; place++) {
        const PetscScalar *values;
        PetscCall(VecGetArrayRead(vectors[place], &values));
        for (PetscInt row = 0; row < rows; row++) all[place * rows + row] = PetscRealPart(values[row]);
        PetscCall(VecRestoreArrayRead(vectors[place], &values));
    }
    for (PetscInt row = 0; has_constant && row < rows; row++) all[count * rows + row] = 1.0;
#if defined(PETSC_USE_REAL_DOUBLE)
    VcycleCall(vcycle_set_near_nullspace(data->solver, (int32_t)(count + has_constant), rows, all));
#endif
    PetscCall(PetscFree(all));
    PetscFunctionReturn(0);
}

static int32_t ScalarType(void)
{
#if defined(PETSC_USE_COMPLEX)
    return sizeof(PetscReal) == 8 ? VCYCLE_C64 : VCYCLE_C32;
#else
    return sizeof(PetscReal) == 8 ? VCYCLE_F64 : VCYCLE_F32;
#endif
}

/* Rows that have nothing but their diagonal fix unknowns, boundary values say. Their columns do not matter to a preconditioner, which
 * may take the known values for granted, but hide the symmetry of the other rows: *made is a copy of the values without them, or NULL
 * where there is nothing to leave out. */
static PetscErrorCode WithoutFixedColumns(PetscInt rows, const PetscInt *offsets, const PetscInt *columns, const PetscScalar *values, PetscScalar **made)
{
    PetscBool *is_fixed;
    PetscInt found = 0;

    PetscFunctionBegin;
    *made = NULL;
    PetscCall(PetscMalloc1(rows, &is_fixed));
    for (PetscInt row = 0; row < rows; row++) {
        is_fixed[row] = PETSC_TRUE;
        for (PetscInt k = offsets[row]; k < offsets[row + 1]; k++) {
            if (columns[k] != row && values[k] != 0.0) is_fixed[row] = PETSC_FALSE;
        }
    }
    for (PetscInt row = 0; row < rows; row++) {
        for (PetscInt k = offsets[row]; k < offsets[row + 1]; k++) found += columns[k] != row && values[k] != 0.0 && is_fixed[columns[k]];
    }
    if (found > 0) {
        PetscCall(PetscMalloc1(offsets[rows], made));
        for (PetscInt row = 0; row < rows; row++) {
            for (PetscInt k = offsets[row]; k < offsets[row + 1]; k++) (*made)[k] = columns[k] != row && is_fixed[columns[k]] ? 0.0 : values[k];
        }
    }
    PetscCall(PetscFree(is_fixed));
    PetscFunctionReturn(0);
}

static PetscErrorCode SetUpLocal(PC pc, Data *data, Mat matrix, PetscBool update)
{
    Mat local, made;
    PetscInt rows;
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
    PetscScalar *fewer = NULL;
    PetscBool done;
    vcycle_csr a;

    PetscFunctionBegin;
    PetscCall(LocalMatrix(matrix, &local, &made));
    PetscCall(MatSeqAIJGetArrayRead(local, &values));
    PetscCall(MatGetRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &rows, &offsets, &columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no compressed rows");
    if (!data->solve) PetscCall(WithoutFixedColumns(rows, offsets, columns, values, &fewer));
    if (update) {
        VcycleCall(vcycle_update_values(data->solver, fewer ? fewer : values));
    } else {
        PetscCall(TellWhatIsKnown(data, matrix));
        memset(&a, 0, sizeof a);
        a.size = sizeof a;
        a.rows = rows;
        a.offsets = offsets;
        a.columns = columns;
        a.values = fewer ? fewer : values;
        a.offset_type = a.column_type = sizeof(PetscInt) == 8 ? VCYCLE_I64 : VCYCLE_I32;
        a.value_type = ScalarType();
        VcycleCall(vcycle_setup(data->solver, &a));
    }
    PetscCall(PetscFree(fewer));
    PetscCall(MatRestoreRowIJ(local, 0, PETSC_FALSE, PETSC_FALSE, &rows, &offsets, &columns, &done));
    PetscCall(MatSeqAIJRestoreArrayRead(local, &values));
    PetscCall(MatDestroy(&made));
    PetscFunctionReturn(0);
}

#if defined(PETSC_USE_REAL_DOUBLE) && !defined(PETSC_USE_COMPLEX)
#define CAN_BE_SHARED 1
#else
#define CAN_BE_SHARED 0
#endif

/* The rows of this process: the block of its own columns, that of the others, and their numbers; *made is to be destroyed unless it
 * is NULL. */
static PetscErrorCode OwnRows(Mat matrix, Mat *own, Mat *others, const PetscInt **numbers, Mat *made)
{
    PetscBool compressed;

    PetscFunctionBegin;
    *made = NULL;
    PetscCall(PetscObjectTypeCompare((PetscObject)matrix, MATMPIAIJ, &compressed));
    if (!compressed) {
        PetscCall(MatConvert(matrix, MATMPIAIJ, MAT_INITIAL_MATRIX, made));
        matrix = *made;
    }
    PetscCall(MatMPIAIJGetSeqAIJ(matrix, own, others, numbers));
    PetscFunctionReturn(0);
}

/* Compressed rows of a block. */
typedef struct {
    Mat block;
    PetscInt rows;
    const PetscInt *offsets, *columns;
    const PetscScalar *values;
} Rows;

static PetscErrorCode OpenRows(Mat block, Rows *it)
{
    PetscBool done;

    PetscFunctionBegin;
    it->block = block;
    PetscCall(MatSeqAIJGetArrayRead(block, &it->values));
    PetscCall(MatGetRowIJ(block, 0, PETSC_FALSE, PETSC_FALSE, &it->rows, &it->offsets, &it->columns, &done));
    PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "the matrix has no compressed rows");
    PetscFunctionReturn(0);
}

static PetscErrorCode CloseRows(Rows *it)
{
    PetscBool done;

    PetscFunctionBegin;
    PetscCall(MatRestoreRowIJ(it->block, 0, PETSC_FALSE, PETSC_FALSE, &it->rows, &it->offsets, &it->columns, &done));
    PetscCall(MatSeqAIJRestoreArrayRead(it->block, &it->values));
    PetscFunctionReturn(0);
}

/* Marks the rows that have nothing but their diagonal, here and among the columns of other processes; both vectors are NULL where
 * there are none. */
static PetscErrorCode FixedColumns(Mat matrix, const Rows *own, const Rows *others, const PetscInt *numbers, Vec *here, Vec *there)
{
    PetscScalar *marks;
    PetscReal found;
    PetscInt count;
    IS places;
    VecScatter scatter;

    PetscFunctionBegin;
    PetscCall(MatCreateVecs(matrix, here, NULL));
    PetscCall(VecGetArray(*here, &marks));
    for (PetscInt row = 0; row < own->rows; row++) {
        PetscInt entries = 0;
        for (PetscInt k = own->offsets[row]; k < own->offsets[row + 1]; k++) entries += own->columns[k] != row && own->values[k] != 0.0;
        for (PetscInt k = others->offsets[row]; k < others->offsets[row + 1]; k++) entries += others->values[k] != 0.0;
        marks[row] = entries == 0 ? 1.0 : 0.0;
    }
    PetscCall(VecRestoreArray(*here, &marks));
    PetscCall(VecNorm(*here, NORM_1, &found));
    *there = NULL;
    if (found == 0.0) {
        PetscCall(VecDestroy(here));
        PetscFunctionReturn(0);
    }
    PetscCall(MatGetSize(others->block, NULL, &count));
    PetscCall(VecCreateSeq(PETSC_COMM_SELF, count, there));
    PetscCall(ISCreateGeneral(PETSC_COMM_SELF, count, numbers, PETSC_COPY_VALUES, &places));
    PetscCall(VecScatterCreate(*here, places, *there, NULL, &scatter));
    PetscCall(VecScatterBegin(scatter, *here, *there, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterEnd(scatter, *here, *there, INSERT_VALUES, SCATTER_FORWARD));
    PetscCall(VecScatterDestroy(&scatter));
    PetscCall(ISDestroy(&places));
    PetscFunctionReturn(0);
}

/* One hierarchy for the rows of all processes. Own columns stand between those of the processes before and after this one. */
static PetscErrorCode SetUpShared(PC pc, Data *data, Mat matrix, PetscBool update)
{
    Mat made, own, others;
    Rows a, b;
    const PetscInt *numbers;
    PetscInt first;
    int64_t *offsets, *columns, to = 0;
    PetscScalar *values;
    Vec here = NULL, there = NULL;
    const PetscScalar *fixed = NULL, *fixed_there = NULL;
    vcycle_csr rows;

    PetscFunctionBegin;
    if (!update) PetscCall(TellWhatIsKnown(data, matrix));
    PetscCall(MatGetOwnershipRange(matrix, &first, NULL));
    PetscCall(OwnRows(matrix, &own, &others, &numbers, &made));
    PetscCall(OpenRows(own, &a));
    PetscCall(OpenRows(others, &b));
    if (!data->solve) PetscCall(FixedColumns(matrix, &a, &b, numbers, &here, &there));
    if (here) {
        PetscCall(VecGetArrayRead(here, &fixed));
        PetscCall(VecGetArrayRead(there, &fixed_there));
    }
    PetscCall(PetscMalloc1(a.rows + 1, &offsets));
    PetscCall(PetscMalloc2(a.offsets[a.rows] + b.offsets[a.rows], &columns, a.offsets[a.rows] + b.offsets[a.rows], &values));
    for (PetscInt row = 0; row < a.rows; row++) {
        PetscInt k = b.offsets[row];
        offsets[row] = to;
        for (; k < b.offsets[row + 1] && numbers[b.columns[k]] < first; k++, to++) {
            columns[to] = numbers[b.columns[k]];
            values[to] = fixed && fixed_there[b.columns[k]] != 0.0 ? 0.0 : b.values[k];
        }
        for (PetscInt l = a.offsets[row]; l < a.offsets[row + 1]; l++, to++) {
            columns[to] = first + a.columns[l];
            values[to] = fixed && a.columns[l] != row && fixed[a.columns[l]] != 0.0 ? 0.0 : a.values[l];
        }
        for (; k < b.offsets[row + 1]; k++, to++) {
            columns[to] = numbers[b.columns[k]];
            values[to] = fixed && fixed_there[b.columns[k]] != 0.0 ? 0.0 : b.values[k];
        }
    }
    offsets[a.rows] = to;
    if (update) {
        VcycleCall(vcycle_update_values(data->solver, values));
    } else {
        memset(&rows, 0, sizeof rows);
        rows.size = sizeof rows;
        rows.rows = a.rows;
        rows.offsets = offsets;
        rows.columns = columns;
        rows.values = values;
        rows.offset_type = rows.column_type = VCYCLE_I64;
        VcycleCall(vcycle_setup_distributed(data->solver, (int32_t)MPI_Comm_c2f(PetscObjectComm((PetscObject)pc)), &rows));
    }
    if (here) {
        PetscCall(VecRestoreArrayRead(here, &fixed));
        PetscCall(VecRestoreArrayRead(there, &fixed_there));
    }
    PetscCall(VecDestroy(&here));
    PetscCall(VecDestroy(&there));
    PetscCall(PetscFree2(columns, values));
    PetscCall(PetscFree(offsets));
    PetscCall(CloseRows(&b));
    PetscCall(CloseRows(&a));
    PetscCall(MatDestroy(&made));
    PetscFunctionReturn(0);
}

static PetscErrorCode SetUp(PC pc)
{
    Data *data;
    Mat matrix;
    PetscObjectId id;
    PetscObjectState pattern;
    PetscBool update;
    char messages[2048];

    PetscFunctionBegin;
    PetscCall(DataOf(pc, &data));
    if (!data->solver) PetscCall(CreateSolver(pc, data));
    PetscCall(PCGetOperators(pc, NULL, &matrix));
    PetscCall(PetscObjectGetId((PetscObject)matrix, &id));
    PetscCall(MatGetNonzeroState(matrix, &pattern));
    update = (PetscBool)(data->keep_levels && data->matrix == id && data->pattern == pattern);
    if (data->processes > 1 && CAN_BE_SHARED && !data->blocks) PetscCall(SetUpShared(pc, data, matrix, update));
    else PetscCall(SetUpLocal(pc, data, matrix, update));
    data->matrix = id;
    data->pattern = pattern;
    VcycleCall(vcycle_messages(data->solver, messages, sizeof messages, NULL));
    PetscCall(PetscInfo(pc, "vcycle: %s\n", messages));
    PetscFunctionReturn(0);
}

static PetscErrorCode Apply(PC pc, Vec from, Vec to)
{
    Data *data;
    const PetscScalar *r;
    PetscScalar *z;
    vcycle_report report;

    PetscFunctionBegin;
    PetscCall(DataOf(pc, &data));
    PetscCall(VecGetArrayRead(from, &r));
    PetscCall(VecGetArrayWrite(to, &z));
    if (data->solve) {
        memset(&report, 0, sizeof report);
        report.size = sizeof report;
        VcycleCall(vcycle_solve(data->solver, 1, r, 0, z, 0, NULL, &report));
        PetscCall(PetscInfo(pc, "vcycle: %s after %d iterations, relative residual %g\n", vcycle_status_name(report.status),
                            (int)report.iterations, report.relative_residual));
        if (report.status != VCYCLE_CONVERGED && report.status != VCYCLE_ACCURACY_LIMIT) {
            PetscCall(PCSetFailedReason(pc, PC_SUBPC_ERROR));
        }
    } else {
        VcycleCall(vcycle_apply(data->solver, 1, r, 0, z, 0));
    }
    PetscCall(VecRestoreArrayWrite(to, &z));
    PetscCall(VecRestoreArrayRead(from, &r));
    PetscFunctionReturn(0);
}

static PetscErrorCode View(PC pc, PetscViewer viewer)
{
    Data *data;
    PetscBool ascii;
    char text[4096];

    PetscFunctionBegin;
    PetscCall(DataOf(pc, &data));
    PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
    if (!ascii || !data->solver) PetscFunctionReturn(0);
    PetscCall(PetscViewerASCIIPrintf(viewer, "  vcycle %s, %s\n", vcycle_version(), data->solve ? "whole solves" : "one cycle"));
    if (data->processes > 1 && (data->blocks || !CAN_BE_SHARED)) {
        PetscCall(PetscViewerASCIIPrintf(viewer, "  one block a process (block Jacobi), not one hierarchy for all; the first:\n"));
    }
    if (vcycle_summary(data->solver, text, sizeof text, NULL) == VCYCLE_OK) {
        char *rest = text;
        for (char *line = text; line && *line; line = rest) {
            rest = strchr(line, '\n');
            if (rest) *rest++ = '\0';
            PetscCall(PetscViewerASCIIPrintf(viewer, "  %s\n", line));
        }
    }
    PetscFunctionReturn(0);
}

/* The shell is destroyed, or becomes a PC of another type. */
static PetscErrorCode Destroy(PC pc)
{
    PetscFunctionBegin;
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", NULL));
    PetscCall(PetscObjectCompose((PetscObject)pc, CONTAINER, NULL));
    PetscFunctionReturn(0);
}

static PetscErrorCode Create(PC pc)
{
    PetscContainer container;
    Data *data;

    PetscFunctionBegin;
    PetscCall(PCSetType(pc, PCSHELL));
    PetscCall(PCShellSetName(pc, "vcycle, multigrid"));
    PetscCall(PCShellSetSetUp(pc, SetUp));
    PetscCall(PCShellSetApply(pc, Apply));
    PetscCall(PCShellSetView(pc, View));
    PetscCall(PCShellSetDestroy(pc, Destroy));
    PetscCall(PetscObjectChangeTypeName((PetscObject)pc, "vcycle"));
    PetscCall(PetscNew(&data));
    data->keep_levels = PETSC_TRUE;
    PetscCall(PetscContainerCreate(PetscObjectComm((PetscObject)pc), &container));
    PetscCall(PetscContainerSetPointer(container, data));
    PetscCall(PetscContainerSetUserDestroy(container, DataFree));
    PetscCall(PetscObjectCompose((PetscObject)pc, CONTAINER, (PetscObject)container));
    PetscCall(PetscContainerDestroy(&container));
    PetscCall(PetscObjectComposeFunction((PetscObject)pc, "PCSetCoordinates_C", SetCoordinates));
    PetscFunctionReturn(0);
}

/* Called by PETSc when the library is loaded. With indices of another width every array would be read wrongly. */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_vcyclepetsc(void)
{
    size_t index, scalar;

    PetscFunctionBegin;
    PetscCall(PetscDataTypeGetSize(PETSC_INT, &index));
    PetscCall(PetscDataTypeGetSize(PETSC_SCALAR, &scalar));
    PetscCheck(index == sizeof(PetscInt) && scalar == sizeof(PetscScalar), PETSC_COMM_SELF, PETSC_ERR_LIB,
               "libvcyclepetsc.so was built for a PETSc with %d-bit indices and scalars of %d bytes, this one has %d-bit indices and "
               "scalars of %d bytes; build the plugin with this PETSc",
               8 * (int)sizeof(PetscInt), (int)sizeof(PetscScalar), 8 * (int)index, (int)scalar);
    PetscCall(PCRegister("vcycle", Create));
    PetscFunctionReturn(0);
}
