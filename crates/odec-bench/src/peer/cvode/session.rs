//! A session with CVODE: created once for a problem and a linear solver, and started again for each run.

use std::ffi::{CStr, c_int, c_long, c_void};
use std::ptr;

use sundials_sys::*;
// for its libraries
#[cfg(feature = "klu")]
use suitesparse_sys as _;

use super::NAME;
use super::preconditioner::Incomplete;
use crate::curve::Curve;
use crate::group::ensemble;
use crate::peer::limit::{self, Columns, Entries, mesh, mesh_jacobian};
use crate::plan::{Counts, Plan};
use crate::problem::{Kind, Problem};

unsafe extern "C" {
    fn limit_mol_jv(kind: c_int, edge: c_int, y: *const f64, v: *const f64, d: *mut f64);
    fn limit_dot(n: c_long, a: *const f64, b: *const f64) -> f64;
    fn limit_weighted(n: c_long, a: *const f64, w: *const f64) -> f64;
}

/// Name and version.
pub fn version() -> String {
    let mut text = [0; 64];
    // SAFETY: it writes at most 64 bytes, with a zero at the end.
    unsafe {
        SUNDIALSGetVersion(text.as_mut_ptr(), 64);
        let number = CStr::from_ptr(text.as_ptr()).to_string_lossy();
        let klu = if cfg!(feature = "klu") { ", KLU" } else { ", without KLU (`--features klu`)" };
        format!("CVODE {number} from source, cc -O3 -march=native{klu}")
    }
}

/// Method for linear systems.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linear {
    Dense,
    Band(i64),
    #[cfg(feature = "klu")]
    Klu,
    /// GMRES with ILU(0), with the defaults of CVODE.
    Gmres,
    /// BiCGStab with ILU(0) and a tighter linear tolerance.
    BiCgStab,
    /// Like [`Linear::BiCgStab`], with sums in lanes and solves written for the grid.
    Best,
    /// No linear systems: Adams with functional iteration.
    Adams,
}

impl Linear {
    fn name(self) -> &'static str {
        match self {
            Linear::Dense => "bdf, dense",
            Linear::Band(_) => "bdf, band",
            #[cfg(feature = "klu")]
            Linear::Klu => "bdf, KLU",
            Linear::Gmres => "bdf, GMRES + ILU(0)",
            Linear::BiCgStab => "bdf, BiCGStab + ILU(0), tuned",
            Linear::Best => "bdf, BiCGStab + ILU(0), by hand",
            Linear::Adams => "Adams",
        }
    }
}

/// Linear tolerance relative to that of Newton's iteration, for tuned methods: with the default, 0.05, the errors of
/// the linear solves reach the error test and cost steps.
const TUNED: f64 = 0.005;

/// Largest number of unknowns for KLU in a quick measurement, and at more than one tolerance.
#[cfg(feature = "klu")]
const QUICK_KLU: usize = 10_000;

/// Data of the callbacks of CVODE.
struct Data {
    kind: Kind,
    n: usize,
    entries: Entries,
    values: Vec<f64>,
    columns: Columns,
    incomplete: Option<Incomplete>,
}

/// Objects of CVODE, which `drop` frees.
struct Session {
    context: SUNContext,
    memory: *mut c_void,
    y: N_Vector,
    matrix: SUNMatrix,
    solver: SUNLinearSolver,
    nonlinear: SUNNonlinearSolver,
    // target of the user data pointer
    data: Box<Data>,
}

/// Values of a vector. SAFETY: a serial vector with n values and no other reference.
unsafe fn values<'a>(v: N_Vector, n: usize) -> &'a mut [f64] {
    unsafe { std::slice::from_raw_parts_mut(N_VGetArrayPointer(v), n) }
}

unsafe fn data<'a>(user: *mut c_void) -> &'a mut Data {
    unsafe { &mut *user.cast::<Data>() }
}

unsafe extern "C" fn f(_: f64, y: N_Vector, d: N_Vector, user: *mut c_void) -> c_int {
    unsafe {
        let data = data(user);
        limit::f(data.kind, values(y, data.n), values(d, data.n));
    }
    0
}

type Vectors = N_Vector;

unsafe extern "C" fn dense(
    _: f64,
    y: N_Vector,
    _: N_Vector,
    matrix: SUNMatrix,
    user: *mut c_void,
    _: Vectors,
    _: Vectors,
    _: Vectors,
) -> c_int {
    unsafe {
        let data = data(user);
        let Kind::Small(id) = data.kind else { return -1 };
        (limit::small(id).jacobian)(values(y, data.n).as_ptr(), data.values.as_mut_ptr());
        // by columns, and zero before this is called
        let out = std::slice::from_raw_parts_mut(SUNDenseMatrix_Data(matrix), data.n * data.n);
        for ((value, row), col) in data.values.iter().zip(&data.entries.row).zip(&data.entries.col) {
            out[*col as usize * data.n + *row as usize] = *value;
        }
    }
    0
}

unsafe extern "C" fn band(
    _: f64,
    y: N_Vector,
    _: N_Vector,
    matrix: SUNMatrix,
    user: *mut c_void,
    _: Vectors,
    _: Vectors,
    _: Vectors,
) -> c_int {
    unsafe {
        let data = data(user);
        mesh_jacobian(data.kind, values(y, data.n), &mut data.columns);
        for col in 0..data.n {
            // points to the diagonal
            let column = SUNBandMatrix_Column(matrix, col as i64);
            for k in data.columns.start[col]..data.columns.start[col + 1] {
                let row = data.columns.row[k as usize];
                *column.offset((row - col as i64) as isize) = data.columns.value[k as usize];
            }
        }
    }
    0
}

#[cfg(feature = "klu")]
unsafe extern "C" fn sparse(
    _: f64,
    y: N_Vector,
    _: N_Vector,
    matrix: SUNMatrix,
    user: *mut c_void,
    _: Vectors,
    _: Vectors,
    _: Vectors,
) -> c_int {
    unsafe {
        let data = data(user);
        mesh_jacobian(data.kind, values(y, data.n), &mut data.columns);
        let Columns { start, row, value } = &data.columns;
        ptr::copy_nonoverlapping(start.as_ptr(), SUNSparseMatrix_IndexPointers(matrix), start.len());
        ptr::copy_nonoverlapping(row.as_ptr(), SUNSparseMatrix_IndexValues(matrix), row.len());
        ptr::copy_nonoverlapping(value.as_ptr(), SUNSparseMatrix_Data(matrix), value.len());
    }
    0
}

unsafe extern "C" fn product(
    v: N_Vector,
    out: N_Vector,
    _: f64,
    y: N_Vector,
    _: N_Vector,
    user: *mut c_void,
    _: Vectors,
) -> c_int {
    unsafe {
        let data = data(user);
        let Some((number, edge, n)) = mesh(data.kind) else { return -1 };
        let out = values(out, n).as_mut_ptr();
        limit_mol_jv(number, edge, values(y, n).as_ptr(), values(v, n).as_ptr(), out);
    }
    0
}

unsafe extern "C" fn precondition(
    _: f64,
    y: N_Vector,
    _: N_Vector,
    fresh: c_int,
    current: *mut c_int,
    gamma: f64,
    user: *mut c_void,
) -> c_int {
    unsafe {
        let data = data(user);
        let n = data.n;
        let Some(incomplete) = &mut data.incomplete else { return -1 };
        *current = c_int::from(fresh == 0);
        if fresh == 0 {
            incomplete.evaluate(values(y, n));
        }
        incomplete.factor(gamma);
    }
    0
}

unsafe extern "C" fn preconditioned(
    _: f64,
    _: N_Vector,
    _: N_Vector,
    r: N_Vector,
    z: N_Vector,
    _: f64,
    _: f64,
    _: c_int,
    user: *mut c_void,
) -> c_int {
    unsafe {
        let data = data(user);
        let Some(incomplete) = &data.incomplete else { return -1 };
        incomplete.solve(values(r, data.n), values(z, data.n));
    }
    0
}

unsafe extern "C" fn dot(a: N_Vector, b: N_Vector) -> f64 {
    unsafe { limit_dot(N_VGetLength(a), N_VGetArrayPointer(a), N_VGetArrayPointer(b)) }
}

unsafe extern "C" fn norm(a: N_Vector, w: N_Vector) -> f64 {
    unsafe {
        let n = N_VGetLength(a);
        (limit_weighted(n, N_VGetArrayPointer(a), N_VGetArrayPointer(w)) / n as f64).sqrt()
    }
}

/// Largest number of steps of one run.
const BUDGET: c_long = 2_000_000;

impl Session {
    fn new(kind: Kind, start: &[f64], linear: Linear) -> Result<Session, String> {
        let n = start.len();
        let entries = match kind {
            Kind::Small(id) => limit::small(id).entries(),
            _ => Entries::default(),
        };
        let mut data = Box::new(Data {
            kind,
            n,
            values: vec![0.0; entries.row.len()],
            entries,
            columns: Columns::default(),
            incomplete: None,
        });
        if matches!(linear, Linear::Gmres | Linear::BiCgStab | Linear::Best) {
            data.incomplete = Incomplete::new(kind, start, linear == Linear::Best);
        }
        mesh_jacobian(kind, start, &mut data.columns);
        // SAFETY: each object is created before the objects that refer to it, and all live until `drop`.
        unsafe {
            let mut context: SUNContext = ptr::null_mut();
            if SUNContext_Create(comm_no_mpi(), &mut context) != 0 {
                return Err("no context".into());
            }
            // errors are reported by the code of a run
            SUNContext_ClearErrHandlers(context);
            let y = N_VNew_Serial(n as i64, context);
            if linear == Linear::Best {
                let ops = &mut *(*y).ops;
                ops.nvdotprod = Some(dot);
                ops.nvwrmsnorm = Some(norm);
            }
            values(y, n).copy_from_slice(start);
            let family = if linear == Linear::Adams { CV_ADAMS } else { CV_BDF };
            let memory = CVodeCreate(family, context);
            let mut session = Session {
                context,
                memory,
                y,
                matrix: ptr::null_mut(),
                solver: ptr::null_mut(),
                nonlinear: ptr::null_mut(),
                data,
            };
            let user: *mut Data = &mut *session.data;
            let mut codes = vec![
                CVodeInit(memory, Some(f), 0.0, y),
                CVodeSStolerances(memory, 1e-4, 1e-4),
                CVodeSetUserData(memory, user.cast()),
                CVodeSetMaxNumSteps(memory, BUDGET),
            ];
            let left = SUN_PREC_LEFT as c_int;
            match linear {
                Linear::Dense => {
                    session.matrix = SUNDenseMatrix(n as i64, n as i64, context);
                    session.solver = SUNLinSol_Dense(y, session.matrix, context);
                }
                Linear::Band(width) => {
                    session.matrix = SUNBandMatrix(n as i64, width, width, context);
                    session.solver = SUNLinSol_Band(y, session.matrix, context);
                }
                #[cfg(feature = "klu")]
                Linear::Klu => {
                    let entries = session.data.columns.row.len() as i64;
                    session.matrix = SUNSparseMatrix(n as i64, n as i64, entries, CSC_MAT as c_int, context);
                    session.solver = SUNLinSol_KLU(y, session.matrix, context);
                    // by minimum degree, four times as fast on grids as the COLAMD that it begins with
                    codes.push(SUNLinSol_KLUSetOrdering(session.solver, 0));
                }
                Linear::Gmres => session.solver = SUNLinSol_SPGMR(y, left, 0, context),
                Linear::BiCgStab | Linear::Best => session.solver = SUNLinSol_SPBCGS(y, left, 0, context),
                Linear::Adams => {
                    session.nonlinear = SUNNonlinSol_FixedPoint(y, 0, context);
                    codes.push(CVodeSetNonlinearSolver(memory, session.nonlinear));
                }
            }
            if !session.solver.is_null() {
                codes.push(CVodeSetLinearSolver(memory, session.solver, session.matrix));
            }
            match linear {
                Linear::Dense => codes.push(CVodeSetJacFn(memory, Some(dense))),
                Linear::Band(_) => codes.push(CVodeSetJacFn(memory, Some(band))),
                #[cfg(feature = "klu")]
                Linear::Klu => codes.push(CVodeSetJacFn(memory, Some(sparse))),
                Linear::Gmres | Linear::BiCgStab | Linear::Best => {
                    codes.push(CVodeSetJacTimes(memory, None, Some(product)));
                    codes.push(CVodeSetPreconditioner(memory, Some(precondition), Some(preconditioned)));
                    if linear != Linear::Gmres {
                        codes.push(CVodeSetEpsLin(memory, TUNED));
                    }
                }
                Linear::Adams => {}
            }
            if codes.iter().any(|c| *c != 0) { Err(format!("CVODE answers {codes:?}")) } else { Ok(session) }
        }
    }

    /// Makes one run from `y`, which then contains the end.
    fn run(&mut self, t_end: f64, rtol: f64, atol: f64, y: &mut [f64]) -> Result<Counts, String> {
        let n = self.data.n;
        assert_eq!(y.len(), n);
        // SAFETY: the objects live as long as the session.
        unsafe {
            values(self.y, n).copy_from_slice(y);
            let mut code = CVodeReInit(self.memory, 0.0, self.y);
            code |= CVodeSStolerances(self.memory, rtol, atol);
            if code != 0 {
                return Err(format!("CVODE answers {code}"));
            }
            let mut t = 0.0;
            let code = CVode(self.memory, t_end, self.y, &mut t, CV_NORMAL as c_int);
            if code < 0 {
                return Err(format!("stopped at t = {t:e} with {code}"));
            }
            y.copy_from_slice(values(self.y, n));
            let (mut steps, mut f) = (0, 0);
            CVodeGetNumSteps(self.memory, &mut steps);
            CVodeGetNumRhsEvals(self.memory, &mut f);
            Ok(Counts { steps: steps as u64, f: f as u64 })
        }
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: each object is freed once, before the objects to which it refers.
        unsafe {
            CVodeFree(&mut self.memory);
            if !self.solver.is_null() {
                SUNLinSolFree(self.solver);
            }
            if !self.nonlinear.is_null() {
                SUNNonlinSolFree(self.nonlinear);
            }
            if !self.matrix.is_null() {
                SUNMatDestroy(self.matrix);
            }
            N_VDestroy(self.y);
            SUNContext_Free(&mut self.context);
        }
    }
}

fn solvers(kind: Kind) -> Vec<Linear> {
    match kind {
        Kind::Small(_) => vec![Linear::Dense],
        Kind::NonStiff(_) => vec![Linear::Adams],
        Kind::Line(_) => vec![
            Linear::Band(2),
            #[cfg(feature = "klu")]
            Linear::Klu,
        ],
        Kind::Torus(_) => vec![
            Linear::Best,
            Linear::BiCgStab,
            Linear::Gmres,
            #[cfg(feature = "klu")]
            Linear::Klu,
        ],
        Kind::Square(edge) => vec![
            Linear::Best,
            Linear::BiCgStab,
            Linear::Gmres,
            #[cfg(feature = "klu")]
            Linear::Klu,
            Linear::Band(edge as i64),
        ],
    }
}

/// A curve for each linear solver that fits.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    // if one run takes half a minute, one tolerance must suffice
    let once = Problem { digits: (5, 5), ..problem.clone() };
    let curve = |linear: Linear| match Session::new(problem.kind, &problem.start, linear) {
        #[cfg(feature = "klu")]
        Ok(mut session) if linear == Linear::Klu && problem.n() > QUICK_KLU => {
            plan.curve(&once, NAME, linear.name(), |rtol, y| session.run(once.t_end, rtol, rtol * once.floor, y))
        }
        Ok(mut session) => plan
            .curve(problem, NAME, linear.name(), |rtol, y| session.run(problem.t_end, rtol, rtol * problem.floor, y)),
        Err(why) => Curve { peer: NAME, method: linear.name().into(), points: vec![], missing: Some(why) },
    };
    let mut list = solvers(problem.kind);
    #[cfg(feature = "klu")]
    // one factorisation takes half a second there
    list.retain(|linear| !(plan.sparse && *linear == Linear::Klu && problem.n() > QUICK_KLU));
    list.into_iter().map(curve).collect()
}

/// Many trajectories in one session.
pub fn ensemble(problem: &Problem, count: usize) -> ensemble::Total {
    let linear = solvers(problem.kind).first().copied().ok_or("no solver fits")?;
    let mut session = Session::new(problem.kind, &problem.start, linear)?;
    let (rtol, atol) = (ensemble::RTOL, ensemble::RTOL * problem.floor);
    ensemble::all(problem, count, |y| session.run(problem.t_end, rtol, atol, y).map(|_| ()))
}
