//! The hand-written C of `limit/`: the reference for times, and the functions for other peers.

use std::ffi::{c_double, c_int, c_long, c_void};

use crate::curve::Curve;
use crate::plan::{Counts, Plan};
use crate::problem::{Kind, Problem};

/// Its name.
pub const NAME: &str = "C";

/// Always here: it is compiled with the benchmark.
pub fn here() -> Result<String, String> {
    Ok("hand-written C, cc -O3 -march=native".into())
}

type Solve = unsafe extern "C" fn(c_int, c_double, c_double, *mut c_double, *mut c_long) -> c_int;
type Start = unsafe extern "C" fn(*mut c_double, *mut c_double, *mut c_int, *mut c_int);
type Sizes = unsafe extern "C" fn(*mut c_int);
/// d = f(y), or the values of the Jacobian at y.
pub type Function = unsafe extern "C" fn(*const c_double, *mut c_double);
type Factor = unsafe extern "C" fn(c_double, *const c_double, *mut c_double);

/// The functions of a small problem.
#[derive(Clone, Copy)]
pub struct Small {
    solve: Solve,
    start: Start,
    sizes: Sizes,
    /// f
    pub f: Function,
    /// Values of the Jacobian.
    pub jacobian: Function,
    /// LU of g - J.
    pub lu: Factor,
    /// Solve with it.
    pub triangular: Function,
}

macro_rules! small {
    ($($id:literal: $solve:ident $start:ident $sizes:ident $f:ident $jacobian:ident $lu:ident $triangular:ident;)*) => {
        unsafe extern "C" {
            $(
                fn $solve(method: c_int, rtol: c_double, atol: c_double, y: *mut c_double, count: *mut c_long) -> c_int;
                fn $start(y: *mut c_double, span: *mut c_double, row: *mut c_int, col: *mut c_int);
                fn $sizes(sizes: *mut c_int);
                fn $f(y: *const c_double, d: *mut c_double);
                fn $jacobian(y: *const c_double, values: *mut c_double);
                fn $lu(g: c_double, values: *const c_double, lu: *mut c_double);
                fn $triangular(lu: *const c_double, b: *mut c_double);
            )*
        }
        /// The functions of a small problem.
        ///
        /// # Panics
        /// An unknown name.
        pub fn small(id: &str) -> Small {
            match id {
                $($id => Small {
                    solve: $solve, start: $start, sizes: $sizes,
                    f: $f, jacobian: $jacobian, lu: $lu, triangular: $triangular,
                },)*
                _ => panic!("no hand-written {id}"),
            }
        }
    };
}

small! {
    "pollu": limit_pollu_solve limit_pollu_start limit_pollu_sizes limit_pollu_f limit_pollu_jacobian limit_pollu_lu limit_pollu_triangular;
    "hires": limit_hires_solve limit_hires_start limit_hires_sizes limit_hires_f limit_hires_jacobian limit_hires_lu limit_hires_triangular;
    "rober40": limit_rober40_solve limit_rober40_start limit_rober40_sizes limit_rober40_f limit_rober40_jacobian limit_rober40_lu limit_rober40_triangular;
    "rober1e11": limit_rober1e11_solve limit_rober1e11_start limit_rober1e11_sizes limit_rober1e11_f limit_rober1e11_jacobian limit_rober1e11_lu limit_rober1e11_triangular;
    "orego": limit_orego_solve limit_orego_start limit_orego_sizes limit_orego_f limit_orego_jacobian limit_orego_lu limit_orego_triangular;
    "vdp": limit_vdp_solve limit_vdp_start limit_vdp_sizes limit_vdp_f limit_vdp_jacobian limit_vdp_lu limit_vdp_triangular;
}

/// Rows and columns of the entries of a Jacobian.
#[derive(Clone, Debug, Default)]
pub struct Entries {
    /// Row of each.
    pub row: Vec<i32>,
    /// Column of each.
    pub col: Vec<i32>,
}

impl Small {
    fn sizes(&self) -> [usize; 3] {
        let mut sizes = [0; 3];
        // SAFETY: it writes three numbers.
        unsafe { (self.sizes)(sizes.as_mut_ptr()) };
        sizes.map(|s| s as usize)
    }

    fn all(&self) -> (Vec<f64>, [f64; 2], Entries) {
        let [n, entries, _] = self.sizes();
        let (mut y, mut span) = (vec![0.0; n], [0.0; 2]);
        let mut at = Entries { row: vec![0; entries], col: vec![0; entries] };
        // SAFETY: it writes n states, end and floor, and a row and a column for each entry.
        unsafe { (self.start)(y.as_mut_ptr(), span.as_mut_ptr(), at.row.as_mut_ptr(), at.col.as_mut_ptr()) };
        (y, span, at)
    }

    /// State at the start, end, and floor of errors.
    pub fn start(&self) -> (Vec<f64>, f64, f64) {
        let (y, [t_end, floor], _) = self.all();
        (y, t_end, floor)
    }

    /// Rows and columns of the entries of the Jacobian.
    pub fn entries(&self) -> Entries {
        self.all().2
    }

    /// Makes one run: 0 Rodas4, 1 Rodas5P, 2 Radau5.
    pub fn run(&self, method: i32, rtol: f64, floor: f64, y: &mut [f64]) -> Result<Counts, String> {
        assert_eq!(y.len(), self.sizes()[0]);
        let mut count = [0; 4];
        // SAFETY: y has as many states as the problem, and it writes four counts.
        let code = unsafe { (self.solve)(method, rtol, rtol * floor, y.as_mut_ptr(), count.as_mut_ptr()) };
        if code == 0 { Ok(counts(&count)) } else { Err("the step collapsed".into()) }
    }

    /// Nanoseconds of f, Jacobian, LU and solve at the end of the problem, each the least of many measurements.
    pub fn kernels(&self, y: &[f64]) -> [f64; 4] {
        let [n, entries, fill] = self.sizes();
        assert_eq!(y.len(), n);
        let (mut d, mut values, mut lu) = (vec![0.0; n], vec![0.0; entries], vec![0.0; fill]);
        // SAFETY: the buffers have the sizes that the problem states.
        unsafe {
            [
                nanoseconds(|| (self.f)(y.as_ptr(), d.as_mut_ptr())),
                nanoseconds(|| (self.jacobian)(y.as_ptr(), values.as_mut_ptr())),
                nanoseconds(|| (self.lu)(100.0, values.as_ptr(), lu.as_mut_ptr())),
                nanoseconds(|| {
                    d.fill(1.0);
                    (self.triangular)(lu.as_ptr(), d.as_mut_ptr());
                }),
            ]
        }
    }
}

/// Least time of a call in nanoseconds, over batches.
pub fn nanoseconds(mut call: impl FnMut()) -> f64 {
    const BATCH: u32 = 2_000;
    let mut least = f64::INFINITY;
    for _ in 0..30 {
        let start = std::time::Instant::now();
        for _ in 0..BATCH {
            call();
        }
        least = least.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(BATCH));
    }
    least
}

fn counts(count: &[c_long; 4]) -> Counts {
    Counts { steps: count[0] as u64, f: count[1] as u64 }
}

unsafe extern "C" {
    fn limit_lines_new(cells: c_int) -> *mut c_void;
    fn limit_lines_free(work: *mut c_void);
    fn limit_lines_solve(
        work: *mut c_void,
        cells: c_int,
        method: c_int,
        t1: c_double,
        rtol: c_double,
        atol: c_double,
        y: *mut c_double,
        count: *mut c_long,
    );
    fn limit_mol_start(kind: c_int, edge: c_int, y: *mut c_double);
    fn limit_mol_f(kind: c_int, edge: c_int, y: *const c_double, d: *mut c_double);
    fn limit_mol_jacobian(
        kind: c_int,
        edge: c_int,
        y: *const c_double,
        col: *mut c_long,
        row: *mut c_long,
        value: *mut c_double,
    ) -> c_long;
    fn limit_dopri5(
        kind: c_int,
        p: *const c_double,
        t1: c_double,
        rtol: c_double,
        atol: c_double,
        y: *mut c_double,
        count: *mut c_long,
    ) -> c_int;
    fn limit_nonstiff_f(kind: c_int, p: *const c_double, y: *const c_double, d: *mut c_double);
}

/// Number of the problem on a mesh in C, points along an edge, unknowns.
pub fn mesh(kind: Kind) -> Option<(i32, i32, usize)> {
    match kind {
        Kind::Line(n) => Some((1, n as i32, 2 * n)),
        Kind::Torus(n) => Some((2, n as i32, 2 * n * n)),
        Kind::Square(n) => Some((3, n as i32, n * n)),
        Kind::Small(_) | Kind::NonStiff(_) => None,
    }
}

/// Initial state of a problem on a mesh; empty for others.
pub fn mesh_start(kind: Kind) -> Vec<f64> {
    let Some((number, edge, n)) = mesh(kind) else { return vec![] };
    let mut y = vec![0.0; n];
    // SAFETY: it writes n values.
    unsafe { limit_mol_start(number, edge, y.as_mut_ptr()) };
    y
}

/// f of a problem on a mesh, or of a non-stiff or small problem.
pub fn f(kind: Kind, y: &[f64], d: &mut [f64]) {
    // SAFETY: y and d have n values each, which the callers ensure.
    match kind {
        Kind::Small(id) => unsafe { (small(id).f)(y.as_ptr(), d.as_mut_ptr()) },
        Kind::NonStiff(number) => unsafe { limit_nonstiff_f(number, RHO.as_ptr(), y.as_ptr(), d.as_mut_ptr()) },
        Kind::Line(_) | Kind::Torus(_) | Kind::Square(_) => {
            if let Some((number, edge, _)) = mesh(kind) {
                unsafe { limit_mol_f(number, edge, y.as_ptr(), d.as_mut_ptr()) }
            }
        }
    }
}

/// A Jacobian by columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    /// Start of each column; n + 1 numbers.
    pub start: Vec<i64>,
    /// Rows, ascending in a column.
    pub row: Vec<i64>,
    /// Values.
    pub value: Vec<f64>,
}

/// Evaluates the Jacobian of a problem on a mesh into `columns`, whose arrays are created at the first call.
pub fn mesh_jacobian(kind: Kind, y: &[f64], columns: &mut Columns) {
    let Some((number, edge, n)) = mesh(kind) else { return };
    assert_eq!(y.len(), n);
    if columns.start.is_empty() {
        // no column has more than six entries
        *columns = Columns { start: vec![0; n + 1], row: vec![0; 6 * n], value: vec![0.0; 6 * n] };
    }
    let Columns { start, row, value } = columns;
    // SAFETY: the arrays hold n + 1 starts and at least as many entries as any of the stencils has.
    let entries = unsafe {
        limit_mol_jacobian(number, edge, y.as_ptr(), start.as_mut_ptr(), row.as_mut_ptr(), value.as_mut_ptr())
    };
    row.truncate(entries as usize);
    value.truncate(entries as usize);
}

/// The parameter of Lorenz' equations.
const RHO: [f64; 1] = [28.0];

/// Makes one run of the hand-written dopri5; `p` is the parameter that an ensemble varies.
pub fn dopri5(number: i32, p: f64, t_end: f64, rtol: f64, atol: f64, y: &mut [f64]) -> Result<Counts, String> {
    assert_eq!(y.len(), [3, 4, 28][number as usize]);
    let mut count = [0; 4];
    // SAFETY: y has as many states as the problem, and it writes four counts.
    let code = unsafe { limit_dopri5(number, &p, t_end, rtol, atol, y.as_mut_ptr(), count.as_mut_ptr()) };
    if code == 0 { Ok(counts(&count)) } else { Err("the step collapsed".into()) }
}

/// Work arrays of the limit on a line.
struct Work(*mut c_void);

impl Drop for Work {
    fn drop(&mut self) {
        // SAFETY: created by limit_lines_new, freed once.
        unsafe { limit_lines_free(self.0) };
    }
}

/// Rodas4, Rodas5P and Radau5, or Rodas4 and Rodas5P with a block-tridiagonal LU, or dopri5.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    let (t_end, floor) = (problem.t_end, problem.floor);
    match problem.kind {
        Kind::Small(id) => {
            let small = small(id);
            let curve = |(number, name): (i32, &str)| {
                plan.curve(problem, NAME, name, |rtol, y| small.run(number, rtol, floor, y))
            };
            [(0, "rodas4"), (1, "rodas5p"), (2, "radau5")].map(curve).into()
        }
        Kind::NonStiff(number) => {
            vec![plan.curve(problem, NAME, "dopri5", |rtol, y| dopri5(number, RHO[0], t_end, rtol, rtol * floor, y))]
        }
        Kind::Line(cells) => {
            // SAFETY: the arrays are for this number of cells, and y has two states for each.
            let work = Work(unsafe { limit_lines_new(cells as c_int) });
            let curve = |(number, name): (i32, &str)| {
                plan.curve(problem, NAME, name, |rtol, y| {
                    assert_eq!(y.len(), 2 * cells);
                    let mut count = [0; 4];
                    let atol = rtol * floor;
                    unsafe {
                        limit_lines_solve(
                            work.0,
                            cells as c_int,
                            number,
                            t_end,
                            rtol,
                            atol,
                            y.as_mut_ptr(),
                            count.as_mut_ptr(),
                        );
                    }
                    Ok(counts(&count))
                })
            };
            [(0, "rodas4"), (1, "rodas5p")].map(curve).into()
        }
        Kind::Torus(_) | Kind::Square(_) => vec![],
    }
}
