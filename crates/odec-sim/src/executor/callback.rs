//! Kernels as C functions for other hosts, also for models with arrays, in the order of states of the host.

use odec_ir::KernelRole;
use odec_jit::{Callback, Extents};

use super::{Backend, Executor};

/// Moves element k of `values` to index `places[k]`.
fn moved(values: &[f64], places: &[usize]) -> Vec<f64> {
    let mut own = vec![0.0; values.len()];
    for (value, place) in values.iter().zip(places) {
        own[*place] = *value;
    }
    own
}

impl Executor {
    /// f, its tangent, or df/dt as a C function, which is called with the parameter buffer as `p`. If the orders
    /// differ, `places` gives the index in y of each element of the caller's vectors. `None` without machine code,
    /// and if the program has no such kernel.
    pub fn callback(&self, role: KernelRole, places: Option<Vec<usize>>) -> Option<Callback> {
        let Backend::Jit(code) = &self.backend else { return None };
        let n = self.layout.n;
        if !code.has(role) {
            return None;
        }
        odec_jit::unless_unsuitable(code.compile(&[role]))?;
        let code = code.clone();
        let run = move |t: f64, y: &[f64], p: &[f64], w: &[f64], out: &mut [f64]| match role {
            KernelRole::Rhs => code.rhs(t, y, p, out),
            KernelRole::Tangent => code.tangent(t, y, p, w, out),
            KernelRole::TimeDerivative => code.time_derivative(t, y, p, out),
            _ => {}
        };
        let w = match role {
            KernelRole::Rhs | KernelRole::TimeDerivative => 0,
            KernelRole::Tangent => n,
            _ => return None,
        };
        let extents = Extents { y: n, p: self.p.len(), w, out: n };
        let made = match places {
            None => Callback::new(extents, run),
            Some(places) => Callback::new(extents, move |t, y, p, w, out| {
                let mut result = vec![0.0; out.len()];
                run(t, &moved(y, &places), p, &moved(w, &places), &mut result);
                for (value, place) in out.iter_mut().zip(&places) {
                    *value = result[*place];
                }
            }),
        };
        odec_jit::unless_unsuitable(made)
    }
}
