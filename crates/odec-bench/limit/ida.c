/* Three problems with algebraic equations, solved by IDA of SUNDIALS with exact derivatives written by hand: a transistor amplifier, a
   ring modulator and a reaction front with a potential. `ida PROBLEM RTOL...` prints for each tolerance the least time of a solve in
   milliseconds, then the state at the end. */
#include <ida/ida.h>
#include <math.h>
#include <nvector/nvector_serial.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunlinsol/sunlinsol_band.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_band.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <time.h>

#define PI 3.14159265358979323846

/* the transistor amplifier: models/transistor_amplifier.ode */
static const double Ub = 6, UF = 0.026, alpha = 0.99, beta = 1e-6, R0 = 1000, R = 9000;
static const double C[6] = {0, 1e-6, 2e-6, 3e-6, 4e-6, 5e-6};

static int amplifier(double t, N_Vector yy, N_Vector pp, N_Vector rr, void *user) {
  const double *y = N_VGetArrayPointer(yy), *p = N_VGetArrayPointer(pp);
  double *r = N_VGetArrayPointer(rr), ue = 0.1 * sin(200 * PI * t);
  double g1 = beta * (exp((y[1] - y[2]) / UF) - 1), g2 = beta * (exp((y[4] - y[5]) / UF) - 1);
  (void)user;
  r[0] = C[1] * (p[1] - p[0]) - (y[0] - ue) / R0;
  r[1] = C[1] * (p[0] - p[1]) - (y[1] / R + (y[1] - Ub) / R + (1 - alpha) * g1);
  r[2] = -C[2] * p[2] - (y[2] / R - g1);
  r[3] = C[3] * (p[4] - p[3]) - ((y[3] - Ub) / R + alpha * g1);
  r[4] = C[3] * (p[3] - p[4]) - (y[4] / R + (y[4] - Ub) / R + (1 - alpha) * g2);
  r[5] = -C[4] * p[5] - (y[5] / R - g2);
  r[6] = C[5] * (p[7] - p[6]) - ((y[6] - Ub) / R + alpha * g2);
  r[7] = C[5] * (p[6] - p[7]) - y[7] / R;
  return 0;
}

static int amplifier_jacobian(double t, double c, N_Vector yy, N_Vector pp, N_Vector rr, SUNMatrix J, void *user, N_Vector a, N_Vector b,
                              N_Vector d) {
  const double *y = N_VGetArrayPointer(yy);
  double h1 = beta / UF * exp((y[1] - y[2]) / UF), h2 = beta / UF * exp((y[4] - y[5]) / UF);
  (void)t, (void)pp, (void)rr, (void)user, (void)a, (void)b, (void)d;
#define M(i, j) SM_ELEMENT_D(J, i, j)
  M(0, 0) = -c * C[1] - 1 / R0, M(0, 1) = c * C[1];
  M(1, 0) = c * C[1], M(1, 1) = -c * C[1] - 2 / R - (1 - alpha) * h1, M(1, 2) = (1 - alpha) * h1;
  M(2, 1) = h1, M(2, 2) = -c * C[2] - 1 / R - h1;
  M(3, 1) = -alpha * h1, M(3, 2) = alpha * h1, M(3, 3) = -c * C[3] - 1 / R, M(3, 4) = c * C[3];
  M(4, 3) = c * C[3], M(4, 4) = -c * C[3] - 2 / R - (1 - alpha) * h2, M(4, 5) = (1 - alpha) * h2;
  M(5, 4) = h2, M(5, 5) = -c * C[4] - 1 / R - h2;
  M(6, 4) = -alpha * h2, M(6, 5) = alpha * h2, M(6, 6) = -c * C[5] - 1 / R, M(6, 7) = c * C[5];
  M(7, 6) = c * C[5], M(7, 7) = -c * C[5] - 1 / R;
  return 0;
}

static void amplifier_start(double *y, double *p) {
  static const double y0[8] = {0, 3, 3, 6, 3, 3, 6, 0};
  memcpy(y, y0, sizeof y0);
  p[2] = -y[2] / (R * C[2]), p[5] = -y[5] / (R * C[4]);
  /* The sums of the equations of a capacitor hold no derivative; their derivatives by t give the rates of both ends. */
  double h1 = beta / UF, h2 = h1;
  double a11 = 1 / R0 + 2 / R + (1 - alpha) * h1, b1 = 0.1 * 200 * PI / R0 + (1 - alpha) * h1 * p[2];
  p[0] = p[1] = b1 / a11;
  double a22 = 3 / R + (1 - alpha) * h2, b2 = -alpha * h1 * (p[1] - p[2]) + (1 - alpha) * h2 * p[5];
  p[3] = p[4] = b2 / a22;
  p[6] = p[7] = -alpha * h2 * (p[4] - p[5]) / (2 / R);
}

/* the ring modulator: models/ring_modulator.ode, in seconds */
static const double rC = 1.6e-8, rCs = 2e-12, rCp = 1e-8, Lh = 4.45, Ls1 = 0.002, Ls2 = 5e-4, Ls3 = 5e-4, rR = 25000, Rp = 50, Rg1 = 36.3,
                    Rg2 = 17.3, Rg3 = 17.3, Ri = 50, Rc = 600, is = 40.67286402e-9, delta = 17.7493332;

static void ring_f(double t, const double *y, double *f, double *d) {
  double s = 0.5 * sin(2000 * PI * t), c = 2 * sin(20000 * PI * t);
  double e1 = is * exp(delta * (y[2] - y[4] - y[6] - c)), e2 = is * exp(delta * (-y[3] + y[5] - y[6] - c));
  double e3 = is * exp(delta * (y[3] + y[4] + y[6] + c)), e4 = is * exp(delta * (-y[2] - y[5] + y[6] + c));
  double d1 = e1 - is, d2 = e2 - is, d3 = e3 - is, d4 = e4 - is;
  d[0] = delta * e1, d[1] = delta * e2, d[2] = delta * e3, d[3] = delta * e4;
  f[0] = (y[7] - 0.5 * y[9] + 0.5 * y[10] + y[13] - y[0] / rR) / rC;
  f[1] = (y[8] - 0.5 * y[11] + 0.5 * y[12] + y[14] - y[1] / rR) / rC;
  f[2] = (y[9] - d1 + d4) / rCs;
  f[3] = (-y[10] + d2 - d3) / rCs;
  f[4] = (y[11] + d1 - d3) / rCs;
  f[5] = (-y[12] - d2 + d4) / rCs;
  f[6] = (-y[6] / Rp + d1 + d2 - d3 - d4) / rCp;
  f[7] = -y[0] / Lh;
  f[8] = -y[1] / Lh;
  f[9] = (0.5 * y[0] - y[2] - Rg2 * y[9]) / Ls2;
  f[10] = (-0.5 * y[0] + y[3] - Rg3 * y[10]) / Ls3;
  f[11] = (0.5 * y[1] - y[4] - Rg2 * y[11]) / Ls2;
  f[12] = (-0.5 * y[1] + y[5] - Rg3 * y[12]) / Ls3;
  f[13] = (-y[0] + s - (Ri + Rg1) * y[13]) / Ls1;
  f[14] = (-y[1] - (Rc + Rg1) * y[14]) / Ls1;
}

static int ring(double t, N_Vector yy, N_Vector pp, N_Vector rr, void *user) {
  const double *p = N_VGetArrayPointer(pp);
  double *r = N_VGetArrayPointer(rr), d[4];
  (void)user;
  ring_f(t, N_VGetArrayPointer(yy), r, d);
  for (int i = 0; i < 15; i++) r[i] -= p[i];
  return 0;
}

static int ring_jacobian(double t, double c, N_Vector yy, N_Vector pp, N_Vector rr, SUNMatrix J, void *user, N_Vector a, N_Vector b,
                         N_Vector e) {
  double d[4], f[15];
  (void)pp, (void)rr, (void)user, (void)a, (void)b, (void)e;
  ring_f(t, N_VGetArrayPointer(yy), f, d);
  /* by voltage: how the arguments of the four exponentials depend on U3 to U7 */
  static const int s[4][5] = {{1, 0, -1, 0, -1}, {0, -1, 0, 1, -1}, {0, 1, 1, 0, 1}, {-1, 0, 0, -1, 1}};
  for (int k = 0; k < 5; k++) {
    double g[4];
    for (int i = 0; i < 4; i++) g[i] = s[i][k] * d[i];
    M(2, k + 2) = (-g[0] + g[3]) / rCs, M(3, k + 2) = (g[1] - g[2]) / rCs, M(4, k + 2) = (g[0] - g[2]) / rCs;
    M(5, k + 2) = (-g[1] + g[3]) / rCs, M(6, k + 2) = (g[0] + g[1] - g[2] - g[3]) / rCp;
  }
  M(6, 6) -= 1 / (Rp * rCp);
  M(0, 0) = -1 / (rR * rC), M(0, 7) = 1 / rC, M(0, 9) = -0.5 / rC, M(0, 10) = 0.5 / rC, M(0, 13) = 1 / rC;
  M(1, 1) = -1 / (rR * rC), M(1, 8) = 1 / rC, M(1, 11) = -0.5 / rC, M(1, 12) = 0.5 / rC, M(1, 14) = 1 / rC;
  M(2, 9) = 1 / rCs, M(3, 10) = -1 / rCs, M(4, 11) = 1 / rCs, M(5, 12) = -1 / rCs;
  M(7, 0) = -1 / Lh, M(8, 1) = -1 / Lh;
  M(9, 0) = 0.5 / Ls2, M(9, 2) = -1 / Ls2, M(9, 9) = -Rg2 / Ls2;
  M(10, 0) = -0.5 / Ls3, M(10, 3) = 1 / Ls3, M(10, 10) = -Rg3 / Ls3;
  M(11, 1) = 0.5 / Ls2, M(11, 4) = -1 / Ls2, M(11, 11) = -Rg2 / Ls2;
  M(12, 1) = -0.5 / Ls3, M(12, 5) = 1 / Ls3, M(12, 12) = -Rg3 / Ls3;
  M(13, 0) = -1 / Ls1, M(13, 13) = -(Ri + Rg1) / Ls1;
  M(14, 1) = -1 / Ls1, M(14, 14) = -(Rc + Rg1) / Ls1;
  for (int i = 0; i < 15; i++) M(i, i) -= c;
  return 0;
}

static void ring_start(double *y, double *p) {
  double d[4];
  for (int i = 0; i < 15; i++) y[i] = 0;
  ring_f(0, y, p, d);
}

/* a reaction front with a potential: models/front.ode of the benchmarks, u and phi of a cell side by side */
#define CELLS 500
static const double D = 1e-4, rate = 5, strength = 2, width = 0.05;

static int front(double t, N_Vector yy, N_Vector pp, N_Vector rr, void *user) {
  const double *y = N_VGetArrayPointer(yy), *p = N_VGetArrayPointer(pp);
  double *r = N_VGetArrayPointer(rr), k = (double)CELLS * CELLS;
  (void)t, (void)user;
  for (int i = 0; i < CELLS; i++) {
    int l = i > 0 ? i - 1 : 0, n = i < CELLS - 1 ? i + 1 : i;
    double u = y[2 * i], phi = y[2 * i + 1];
    r[2 * i] = D * k * (y[2 * l] - 2 * u + y[2 * n]) + rate * u * (1 - u) * exp(-strength * phi) - p[2 * i];
    r[2 * i + 1] = width * width * k * (y[2 * l + 1] - 2 * phi + y[2 * n + 1]) - phi + u;
  }
  return 0;
}

static int front_jacobian(double t, double c, N_Vector yy, N_Vector pp, N_Vector rr, SUNMatrix J, void *user, N_Vector a, N_Vector b,
                          N_Vector d) {
  const double *y = N_VGetArrayPointer(yy);
  double k = (double)CELLS * CELLS, m = D * k, w = width * width * k;
  (void)t, (void)pp, (void)rr, (void)user, (void)a, (void)b, (void)d;
  for (int i = 0; i < CELLS; i++) {
    double u = y[2 * i], e = rate * exp(-strength * y[2 * i + 1]), edge = (i == 0) + (i == CELLS - 1);
    double *of_u = SM_COLUMN_B(J, 2 * i), *of_phi = SM_COLUMN_B(J, 2 * i + 1);
    SM_COLUMN_ELEMENT_B(of_u, 2 * i, 2 * i) = -m * (2 - edge) + e * (1 - 2 * u) - c;
    SM_COLUMN_ELEMENT_B(of_u, 2 * i + 1, 2 * i) = 1;
    SM_COLUMN_ELEMENT_B(of_phi, 2 * i, 2 * i + 1) = -strength * e * u * (1 - u);
    SM_COLUMN_ELEMENT_B(of_phi, 2 * i + 1, 2 * i + 1) = -w * (2 - edge) - 1;
    for (int s = -1; s <= 1; s += 2)
      if (i + s >= 0 && i + s < CELLS) {
        SM_COLUMN_ELEMENT_B(of_u, 2 * (i + s), 2 * i) = m;
        SM_COLUMN_ELEMENT_B(of_phi, 2 * (i + s) + 1, 2 * i + 1) = w;
      }
  }
  return 0;
}

static void front_start(double *y, double *p) {
  /* tridiagonal elimination for phi */
  double w = width * width * CELLS * CELLS, up[CELLS], right[CELLS];
  for (int i = 0; i < CELLS; i++) {
    y[2 * i] = 1 / (1 + exp(((i + 1.0) / CELLS - 0.1) / 0.01));
    double diagonal = -w * (2 - (i == 0) - (i == CELLS - 1)) - 1, before = i > 0 ? w : 0;
    double pivot = diagonal - (i > 0 ? before * up[i - 1] : 0);
    up[i] = w / pivot, right[i] = (-y[2 * i] - (i > 0 ? before * right[i - 1] : 0)) / pivot;
  }
  for (int i = CELLS - 1; i >= 0; i--) y[2 * i + 1] = right[i] - (i < CELLS - 1 ? up[i] * y[2 * i + 3] : 0);
  /* u' and phi', the latter from the derivative of its equation */
  for (int i = 0; i < 2 * CELLS; i++) p[i] = 0;
  for (int i = 0; i < CELLS; i++) {
    int l = i > 0 ? i - 1 : 0, n = i < CELLS - 1 ? i + 1 : i;
    double u = y[2 * i], k = (double)CELLS * CELLS;
    p[2 * i] = D * k * (y[2 * l] - 2 * u + y[2 * n]) + rate * u * (1 - u) * exp(-strength * y[2 * i + 1]);
    double diagonal = -w * (2 - (i == 0) - (i == CELLS - 1)) - 1, pivot = diagonal - (i > 0 ? w * up[i - 1] : 0);
    right[i] = (-p[2 * i] - (i > 0 ? w * right[i - 1] : 0)) / pivot;
  }
  for (int i = CELLS - 1; i >= 0; i--) p[2 * i + 1] = right[i] - (i < CELLS - 1 ? up[i] * p[2 * i + 3] : 0);
}

typedef struct {
  const char *name;
  int n, band;
  double end, floor;
  IDAResFn residual;
  IDALsJacFn jacobian;
  void (*start)(double *, double *);
} Problem;

/* `floor`: the absolute tolerance as a part of the relative one */
static const Problem problems[] = {
    {"amplifier", 8, 0, 0.2, 1, amplifier, amplifier_jacobian, amplifier_start},
    {"ring", 15, 0, 1e-3, 1e-4, ring, ring_jacobian, ring_start},
    {"front", 2 * CELLS, 2, 10, 1e-3, front, front_jacobian, front_start},
};

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return 1e3 * t.tv_sec + 1e-6 * t.tv_nsec;
}

int main(int count, char **words) {
  const Problem *of = NULL;
  for (size_t k = 0; k < sizeof problems / sizeof *problems; k++)
    if (count > 2 && !strcmp(problems[k].name, words[1])) of = &problems[k];
  if (!of) return fprintf(stderr, "ida PROBLEM RTOL...\n"), 1;
  SUNContext context;
  SUNContext_Create(NULL, &context);
  N_Vector y = N_VNew_Serial(of->n, context), p = N_VClone(y);
  SUNMatrix J = of->band ? SUNBandMatrix(of->n, of->band, of->band, context) : SUNDenseMatrix(of->n, of->n, context);
  SUNLinearSolver solver = of->band ? SUNLinSol_Band(y, J, context) : SUNLinSol_Dense(y, J, context);
  void *ida = IDACreate(context);
  of->start(N_VGetArrayPointer(y), N_VGetArrayPointer(p));
  IDAInit(ida, of->residual, 0, y, p);
  IDASetLinearSolver(ida, solver, J);
  IDASetJacFn(ida, of->jacobian);
  IDASetMaxNumSteps(ida, 10000000);
  for (int k = 2; k < count; k++) {
    double rtol = atof(words[k]), best = INFINITY, spent = 0;
    long steps = 0;
    int flag = 0;
    for (int runs = 0; runs < 3 || (spent < 400 && runs < 200); runs++) {
      of->start(N_VGetArrayPointer(y), N_VGetArrayPointer(p));
      double begun = now(), reached;
      IDAReInit(ida, 0, y, p);
      IDASStolerances(ida, rtol, rtol * of->floor);
      IDASetStopTime(ida, of->end);
      flag = IDASolve(ida, of->end, &reached, y, p, IDA_NORMAL);
      double took = now() - begun;
      spent += took;
      if (took < best) best = took;
      if (flag < 0) break;
    }
    IDAGetNumSteps(ida, &steps);
    printf("%s %.6g %ld %d", words[k], best, steps, flag);
    for (int i = 0; i < of->n; i++) printf(" %.17g", N_VGetArrayPointer(y)[i]);
    printf("\n");
    fflush(stdout);
  }
  return 0;
}
