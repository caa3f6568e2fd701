//! Times the kernels of a Brusselator on a periodic grid beside C: right-hand side, Jacobian times vector and Jacobian, as
//! machine code of nests and as loops compiled by `cc -O3 -march=native`. Run it with `--release`; arguments are sizes of
//! the grid. With ASM=1 in the environment it prints the code instead.

use std::hint::black_box;
use std::process::Command;
use std::sync::Arc;
use std::time::Instant;

use odec_ir::nest::bind::MAX_ENTRIES;
use odec_ir::nest::{
    Access, AccessId, Affine, Axis, AxisId, BoundProgram, Edge, Extent, ExtentId, Kernel, Loop, Margin, Region, Space,
    Store, Sub, Subscript, Target,
};
use odec_ir::{Array, ArrayId, Graph, KernelRole, NodeId, Program, Role, Span, derive};
use odec_jit::Compiled;

/// Positions in the list of arrays.
const U: u32 = 0;
const V: u32 = 1;
const ALPHA: u32 = 2;

fn array(name: &str, role: Role, axes: &[u32]) -> Array {
    Array {
        name: name.to_string(),
        role,
        axes: axes.iter().map(|&a| AxisId(a)).collect(),
        default: 0.0,
        data: Vec::new().into(),
        unit: None,
        doc: None,
        span: Span::default(),
    }
}

/// Writes one part of a nest over the grid.
struct FunctionWriter {
    space: Space,
    graph: Graph,
    edge: Edge,
}

impl FunctionWriter {
    fn access(&mut self, array: u32, shifts: [i64; 2]) -> AccessId {
        let subs = [0, 1].map(|k| {
            let affine = Affine { constant: shifts[k], ..Affine::index(odec_ir::nest::LoopId(k as u32)) };
            Subscript { sub: Sub::Affine(affine), edge: if shifts[k] == 0 { Edge::Inside } else { self.edge } }
        });
        self.space.intern(Access { array: ArrayId(array), subs: subs.to_vec(), guard: None })
    }

    fn element(&mut self, array: u32, shifts: [i64; 2]) -> NodeId {
        let access = self.access(array, shifts);
        self.graph.read(access)
    }

    /// `alpha*(sum of the neighbours - 4*x)`
    fn laplacian(&mut self, array: u32) -> NodeId {
        let mut sum = self.element(array, [-1, 0]);
        for shifts in [[1, 0], [0, -1], [0, 1]] {
            let x = self.element(array, shifts);
            sum = self.graph.add(sum, x);
        }
        let x = self.element(array, [0, 0]);
        let four = self.graph.constant(4.0);
        let middle = self.graph.mul(four, x);
        let sum = self.graph.sub(sum, middle);
        let alpha = self.space.scalar(ArrayId(ALPHA));
        let alpha = self.graph.read(alpha);
        self.graph.mul(alpha, sum)
    }

    fn equations(&mut self) -> [NodeId; 2] {
        let (u, v) = (self.element(U, [0, 0]), self.element(V, [0, 0]));
        let [du, dv] = [U, V].map(|array| self.laplacian(array));
        let g = &mut self.graph;
        let constant = |g: &mut Graph, x| g.constant(x);
        let square = g.mul(u, u);
        let reaction = g.mul(square, v);
        let one = constant(g, 1.0);
        let (rate, back) = (constant(g, 4.4), constant(g, 3.4));
        let (loss, gain) = (g.mul(rate, u), g.mul(back, u));
        let x = g.add(one, reaction);
        let (x, y) = (g.sub(x, loss), g.sub(gain, reaction));
        [g.add(x, du), g.add(y, dv)]
    }
}

fn nest(region: Region, axes: &[Axis]) -> Kernel {
    let mut space = Space::new();
    let iterates = axes.iter().map(|axis| space.push_loop(Loop::over(axis))).collect();
    let mut writer = FunctionWriter { space, graph: Graph::new(), edge: Edge::Periodic };
    let rows = writer.equations();
    let targets = [U, V].map(|array| Target::set(writer.access(array, [0, 0])));
    let margins = [[-1, 0], [1, 0], [0, -1], [0, 1]].into_iter().flat_map(|shifts: [i64; 2]| {
        (0..2).map(move |k| Margin {
            sub: Affine { constant: shifts[k], ..Affine::index(odec_ir::nest::LoopId(k as u32)) },
            axis: AxisId(k as u32),
        })
    });
    let margins = margins.collect();
    let stores = targets.into_iter().zip(rows).map(|(target, node)| Store { target, node }).collect();
    Kernel { role: KernelRole::Rhs, space: writer.space, iterates, region, margins, graph: writer.graph, stores }
}

fn model(size: i64) -> Program {
    let extents = vec![Extent { text: "N".to_string(), value: size, span: Span::default() }];
    let axes: Vec<Axis> = ["i", "j"]
        .map(|name| Axis {
            name: name.to_string(),
            first: Affine::constant(1),
            last: Affine::extent(ExtentId(0)),
            span: Span::default(),
        })
        .to_vec();
    let nests = [Region::Interior, Region::Boundary].map(|region| nest(region, &axes)).to_vec();
    let states = [array("u", Role::FirstOrder, &[0, 1]), array("v", Role::FirstOrder, &[0, 1])];
    let arrays = states.into_iter().chain([array("alpha", Role::Parameter, &[])]).collect();
    derive::complete_over(arrays, axes, extents, nests, "brusselator")
}

const SOURCE: &str = r#"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec*1e3 + t.tv_nsec*1e-6; }
#define LAP(x) (alpha*(x[im+j] + x[ip+j] + x[i0+jm] + x[i0+jp] - 4*x[i0+j]))
#define CELL_F(a_, b_) { long jm = a_, jp = b_; double a = u[i0+j], r = a*a*v[i0+j]; \
    du[i0+j] = 1 + r - 4.4*a + LAP(u); dv[i0+j] = 3.4*a - r + LAP(v); }
#define CELL_J(a_, b_) { long jm = a_, jp = b_; double a = u[i0+j], b = v[i0+j], r = 2*(a*b)*wu[i0+j] + a*a*wv[i0+j]; \
    du[i0+j] = r - 4.4*wu[i0+j] + LAP(wu); dv[i0+j] = 3.4*wu[i0+j] - r + LAP(wv); }
#define ROWS(CELL) for (long i = 0; i < n; i++) { \
    long i0 = i*n, im = (i == 0 ? n - 1 : i - 1)*n, ip = (i == n - 1 ? 0 : i + 1)*n, j = 0; \
    CELL(n - 1, 1) \
    for (j = 1; j < n - 1; j++) CELL(j - 1, j + 1) \
    j = n - 1; CELL(n - 2, 0) }
__attribute__((noinline)) void f(long n, double alpha, const double *restrict y, double *restrict d)
{ const double *u = y, *v = y + n*n; double *restrict du = d, *restrict dv = d + n*n; ROWS(CELL_F) }
__attribute__((noinline)) void jv(long n, double alpha, const double *restrict y, const double *restrict w, double *restrict d)
{ const double *u = y, *v = y + n*n, *wu = w, *wv = w + n*n; double *restrict du = d, *restrict dv = d + n*n; ROWS(CELL_J) }
#define CELL_E(a_, b_) { long c = i0 + j; (void)(a_); (void)(b_); double a = u[c], r = 2*(a*v[c]), q = a*a; \
    out[slot[c]] += r - 4.4 - 4*alpha; out[slot[m+c]] += q; out[slot[2*m+c]] += 3.4 - r; out[slot[3*m+c]] += -q - 4*alpha; \
    for (long s = 4; s < 12; s++) out[slot[s*m+c]] += alpha; }
__attribute__((noinline)) void jac(long n, double alpha, const double *restrict y, const unsigned *restrict slot, double *restrict out)
{ long m = n*n; const double *u = y, *v = y + m; memset(out, 0, 12*m*8); 
  for (long i = 0; i < n; i++) { long i0 = i*n; for (long j = 0; j < n; j++) CELL_E(0, 0) } }
int main(int argc, char **argv) {
    long n = argc > 1 ? atol(argv[1]) : 128, m = 2*n*n; double alpha = 0.002*n*n;
    double *y = malloc(m*8), *w = malloc(m*8), *d = malloc(m*8), *values = malloc(6*m*8), best[3] = {1e9, 1e9, 1e9}; unsigned *slot = malloc(6*m*4);
    for (long k = 0; k < m; k++) { y[k] = 1 + (k % 17)*0.1; w[k] = (k % 13)*0.1; }
    /* u-u, u-v, v-u, v-v, then the neighbours of u and of v: six entries to a column, the rows ascending. */
    for (long c = 0; c < n*n; c++) for (int s = 0; s < 12; s++) {
        static const int place[12] = {2, 3, 2, 3, 0, 1, 4, 5, 0, 1, 4, 5}, second[12] = {0, 1, 0, 1, 0, 0, 0, 0, 1, 1, 1, 1};
        static const int di[12] = {0, 0, 0, 0, -1, 0, 0, 1, -1, 0, 0, 1}, dj[12] = {0, 0, 0, 0, 0, -1, 1, 0, 0, -1, 1, 0};
        long i = (c/n + di[s] + n) % n, j = (c%n + dj[s] + n) % n;
        slot[s*n*n + c] = ((second[s]*n + i)*n + j)*6 + (s == 1 ? 0 : place[s]);
    }
    for (int rep = 0; rep < 200; rep++) {
        double start = now(); f(n, alpha, y, d); double end = now(); if (end - start < best[0]) best[0] = end - start;
        __asm__ volatile("" : : "r"(d) : "memory");
        start = now(); jv(n, alpha, y, w, d); end = now(); if (end - start < best[1]) best[1] = end - start;
        __asm__ volatile("" : : "r"(d) : "memory");
    }
    for (int rep = 0; rep < 200; rep++) {
        double start = now(); jac(n, alpha, y, slot, values); double end = now(); if (end - start < best[2]) best[2] = end - start;
        __asm__ volatile("" : : "r"(values) : "memory");
    }
    printf("%.4f | %.4f | %.4f\n", best[0], best[1], best[2]);
    return 0;
}
"#;

/// Least milliseconds of f and of J w in C; `None` without a compiler.
fn in_c(size: i64) -> Option<String> {
    let directory = std::env::temp_dir();
    let (source, binary) = (directory.join("odec-grid.c"), directory.join("odec-grid"));
    std::fs::write(&source, SOURCE).ok()?;
    let flags = ["-O3", "-march=native", "-ffp-contract=off"];
    let built = Command::new("cc").args(flags).arg(&source).arg("-o").arg(&binary).status().ok()?;
    let output = built.success().then(|| Command::new(&binary).arg(size.to_string()).output())?.ok()?;
    String::from_utf8(output.stdout).ok()
}

fn least(mut run: impl FnMut()) -> f64 {
    let mut least = f64::INFINITY;
    for _ in 0..200 {
        let start = Instant::now();
        run();
        least = least.min(start.elapsed().as_secs_f64() * 1e3);
    }
    least
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut sizes: Vec<i64> = std::env::args().skip(1).filter_map(|size| size.parse().ok()).collect();
    if sizes.is_empty() {
        sizes = vec![128];
    }
    if std::env::var_os("ASM").is_some() {
        print!("{}", odec_jit::asm_text(&model(8))?);
        return Ok(());
    }
    println!("| grid | compile, ms | load, ms | bind J, ms | f, ms | J w | J | f in C | J w | J |");
    println!("|---|---|---|---|---|---|---|---|---|---|");
    for size in sizes {
        let program = model(size);
        let start = Instant::now();
        let mut compiled = Compiled::new(&program)?;
        compiled.compile(&[KernelRole::Tangent, KernelRole::Jacobian])?;
        let compile = start.elapsed().as_secs_f64() * 1e3;
        let bound = Arc::new(BoundProgram::of(&program).map_err(|error| format!("{error:?}"))?);
        let start = Instant::now();
        compiled.load(Arc::clone(&bound))?;
        let load = start.elapsed().as_secs_f64() * 1e3;
        let start = Instant::now();
        let matrix = bound.matrix(&program, KernelRole::Jacobian, MAX_ENTRIES).map_err(|error| error.to_string())?;
        compiled.load_matrix(KernelRole::Jacobian, Arc::new(matrix))?;
        let bind = start.elapsed().as_secs_f64() * 1e3;
        let n = compiled.n();
        let y: Vec<f64> = (0..n).map(|k| 1.0 + (k % 17) as f64 * 0.1).collect();
        let w: Vec<f64> = (0..n).map(|k| (k % 13) as f64 * 0.1).collect();
        let p = vec![0.002 * (size * size) as f64; compiled.p_len()];
        let mut out = vec![0.0; n];
        let f = least(|| compiled.rhs(0.0, black_box(&y), &p, &mut out));
        let jw = least(|| compiled.tangent(0.0, black_box(&y), &p, &w, &mut out));
        let mut values = vec![0.0; compiled.out_len(KernelRole::Jacobian)];
        let j = least(|| compiled.jacobian(0.0, black_box(&y), &p, &mut values));
        let c = in_c(size).unwrap_or_default();
        println!("| {size} | {compile:.2} | {load:.3} | {bind:.2} | {f:.4} | {jw:.4} | {j:.4} | {} |", c.trim());
    }
    Ok(())
}
