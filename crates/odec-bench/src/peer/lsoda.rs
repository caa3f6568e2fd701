//! LSODA in C++, if its source is available: it switches between Adams and BDF, and computes its Jacobian from differences.

use crate::curve::Curve;
use crate::plan::Plan;
use crate::problem::Problem;

/// Its name.
pub const NAME: &str = "lsoda";

/// Version of the built-in library, or the reason for which it is not available.
pub fn here() -> Result<String, String> {
    #[cfg(lsoda)]
    return Ok("LSODA in C++ as in numbalsoda 0.3.4, c++ -O3 -march=native, without a Jacobian".into());
    #[cfg(not(lsoda))]
    Err("its source is not here; crates/odec-bench/peers.sh fetches it, or ODEC_LSODA=folder names it".into())
}

/// Curves of problems without a mesh; only dense matrices are supported here.
pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
    #[cfg(lsoda)]
    return inside::curves(problem, plan);
    #[cfg(not(lsoda))]
    {
        let _ = (problem, plan);
        vec![]
    }
}

/// Many trajectories.
pub fn ensemble(problem: &Problem, count: usize) -> crate::group::ensemble::Total {
    #[cfg(lsoda)]
    return inside::ensemble(problem, count);
    #[cfg(not(lsoda))]
    {
        let _ = (problem, count);
        Err("not built in".into())
    }
}

#[cfg(lsoda)]
mod inside {
    //! Code that requires LSODA.

    use std::ffi::{c_int, c_void};

    use crate::curve::Curve;
    use crate::group::ensemble;
    use crate::peer::limit;
    use crate::plan::{Counts, Plan};
    use crate::problem::{Kind, Problem};

    type Function = unsafe extern "C" fn(f64, *mut f64, *mut f64, *mut c_void);

    unsafe extern "C" {
        fn odec_lsoda(f: Function, n: c_int, y: *mut f64, t1: f64, rtol: f64, atol: f64, data: *mut c_void) -> c_int;
    }

    /// Data for f: the problem, its size, and the number of calls.
    struct Data {
        kind: Kind,
        n: usize,
        calls: u64,
    }

    unsafe extern "C" fn f(_: f64, y: *mut f64, d: *mut f64, data: *mut c_void) {
        // SAFETY: LSODA passes the data that it was given, and n values each.
        unsafe {
            let data = &mut *data.cast::<Data>();
            data.calls += 1;
            let (y, d) = (std::slice::from_raw_parts(y, data.n), std::slice::from_raw_parts_mut(d, data.n));
            limit::f(data.kind, y, d);
        }
    }

    pub fn curves(problem: &Problem, plan: &Plan) -> Vec<Curve> {
        if !matches!(problem.kind, Kind::Small(_) | Kind::NonStiff(_)) {
            return vec![];
        }
        vec![plan.curve(problem, super::NAME, "", |rtol, y| run(problem, rtol, y))]
    }

    fn run(problem: &Problem, rtol: f64, y: &mut [f64]) -> Result<Counts, String> {
        let mut data = Data { kind: problem.kind, n: y.len(), calls: 0 };
        let user: *mut Data = &mut data;
        // SAFETY: y has n values, and `data` outlives the call.
        let code = unsafe {
            odec_lsoda(f, y.len() as c_int, y.as_mut_ptr(), problem.t_end, rtol, rtol * problem.floor, user.cast())
        };
        if code == 0 { Ok(Counts { steps: 0, f: data.calls }) } else { Err("it gave up".into()) }
    }

    pub fn ensemble(problem: &Problem, count: usize) -> ensemble::Total {
        ensemble::all(problem, count, |y| run(problem, ensemble::RTOL, y).map(|_| ()))
    }
}
