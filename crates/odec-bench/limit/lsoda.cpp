// LSODA in C++ (as numbalsoda ships it), started afresh for each run.
#include "LSODA.h"
#include <vector>
extern "C" int odec_lsoda(void (*f)(double, double *, double *, void *), int n, double *y, double t1, double rtol, double atol, void *data) {
    LSODA solver;
    solver.mxstep = 2000000;
    std::vector<double> start(y, y + n), end(n);
    int state = 1;
    double t = 0;
    solver.lsoda_update(f, n, start, end, &t, t1, &state, data, rtol, atol);
    if (state <= 0) return -1;
    for (int i = 0; i < n; i++) y[i] = end[i + 1];
    return 0;
}
