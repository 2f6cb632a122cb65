// Solves a system whose matrix and vectors are in the memory of an NVIDIA GPU. The driver is loaded at run time, so that this
// compiles without CUDA; where there is no GPU it says so and ends.
//
//     cc device.c $(pkg-config --cflags --libs vcycle) -ldl -lm -o device && ./device
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <vcycle.h>

enum { SIDE = 300, ROWS = SIDE * SIDE };
typedef unsigned long long Address;

static void *driver;
static void *find(const char *name) {
    void *found = dlsym(driver, name);
    if (!found) fprintf(stderr, "the driver has no %s\n", name), exit(1);
    return found;
}

static Address upload(const void *from, size_t bytes) {
    Address to = 0;
    int (*allocate)(Address *, size_t) = (int (*)(Address *, size_t))find("cuMemAlloc_v2");
    int (*copy)(Address, const void *, size_t) = (int (*)(Address, const void *, size_t))find("cuMemcpyHtoD_v2");
    if (allocate(&to, bytes) || copy(to, from, bytes)) fprintf(stderr, "no memory on the device\n"), exit(1);
    return to;
}

static void check(int32_t code) {
    if (code != VCYCLE_OK) fprintf(stderr, "vcycle: %s\n", vcycle_last_error()), exit(1);
}

int main(void) {
    driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!driver || ((int (*)(unsigned))find("cuInit"))(0)) {
        printf("no NVIDIA GPU\n");
        return 0;
    }
    // The context that the CUDA runtime and vcycle use.
    int device;
    void *context;
    if (((int (*)(int *, int))find("cuDeviceGet"))(&device, 0) ||
        ((int (*)(void **, int))find("cuDevicePrimaryCtxRetain"))(&context, device) ||
        ((int (*)(void *))find("cuCtxSetCurrent"))(context))
        return 1;

    static int32_t offsets[ROWS + 1], columns[5 * ROWS];
    static double values[5 * ROWS], b[ROWS], x[ROWS];
    int count = 0;
    for (int row = 0; row < ROWS; row++) {
        const int i = row % SIDE, j = row / SIDE;
        const int there[5] = {j > 0, i > 0, 1, i < SIDE - 1, j < SIDE - 1}, step[5] = {-SIDE, -1, 0, 1, SIDE};
        offsets[row] = count;
        b[row] = 1.0;
        for (int k = 0; k < 5; k++)
            if (there[k]) columns[count] = row + step[k], values[count++] = step[k] == 0 ? 4.0 : -1.0;
    }
    offsets[ROWS] = count;
    const Address on_device_b = upload(b, sizeof b), on_device_x = upload(x, sizeof x);
    vcycle_csr a = {
        .size = sizeof a,
        .rows = ROWS,
        .offsets = (void *)upload(offsets, sizeof offsets),
        .columns = (void *)upload(columns, count * sizeof *columns),
        .values = (void *)upload(values, count * sizeof *values),
        .flags = VCYCLE_DEVICE,
    };

    vcycle_solver *solver;
    check(vcycle_create("device=cuda:0 preconditioner=amg rtol=1e-10", &solver));
    check(vcycle_setup(solver, &a));
    vcycle_report report = {.size = sizeof report};
    int (*download)(void *, Address, size_t) = (int (*)(void *, Address, size_t))find("cuMemcpyDtoH_v2");
    for (int round = 0; round < 2; round++) {
        check(vcycle_solve(solver, 1, (void *)on_device_b, 0, (void *)on_device_x, 0, NULL, &report));
        if (download(x, on_device_x, sizeof x)) return 1;
        double worst = 0.0;
        for (int row = 0; row < ROWS; row++) {
            double residual = b[row];
            for (int k = offsets[row]; k < offsets[row + 1]; k++) residual -= values[k] * x[columns[k]];
            worst = fmax(worst, fabs(residual));
        }
        printf("%s after %lld iterations, largest residual %.1e\n", vcycle_status_name(report.status),
               (long long)report.iterations, worst);
        if (report.status != VCYCLE_CONVERGED || worst > 1e-6) return 1;
        check(vcycle_update_values(solver, a.values));
    }
    check(vcycle_apply(solver, 1, (void *)on_device_b, 0, (void *)on_device_x, 0));
    if (download(x, on_device_x, sizeof x) || !(x[ROWS / 2] > 0.0)) return 1;
    check(vcycle_free(solver));
    return 0;
}
