//! Derivatives of initial values and outputs with respect to one variable at a time, by dual numbers; no kernel
//! computes them.

use std::cell::OnceCell;

use num_dual::Dual64;

use super::Variable;
use crate::graph::Node;
use crate::interpret::{Inputs, Interpreter};
use crate::layout::Layout;
use crate::nest::BoundProgram;
use crate::number::Number;
use crate::program::{KernelRole, Program, Role};

/// Computes columns of derivatives of a program.
pub struct Columns<'a> {
    program: &'a Program,
    bound: &'a BoundProgram,
    /// Created on first use: this schedules every kernel.
    interpreter: OnceCell<Interpreter>,
}

impl<'a> Columns<'a> {
    /// For a program at its extents.
    pub fn new(program: &'a Program, bound: &'a BoundProgram) -> Columns<'a> {
        Columns { program, bound, interpreter: OnceCell::new() }
    }

    /// True if initial values depend on parameters.
    pub fn start_depends(&self) -> bool {
        self.program.kernels_of(KernelRole::Initial).any(|kernel| {
            kernel.live().any(|(_, node)| match node {
                Node::Read(element) => {
                    let role = self.program.arrays[kernel.array(element).0 as usize].role;
                    matches!(role, Role::Parameter | Role::Staged)
                }
                _ => false,
            })
        })
    }

    /// The derivatives of the initial values with respect to the parameter at this index, for the parameter buffer `p`.
    pub fn start(&self, parameter: usize, t0: f64, p: &[f64]) -> Vec<f64> {
        let variable = Variable::Parameter(parameter);
        self.derivatives((KernelRole::Initial, self.bound.layout.n), variable, (t0, &[], p))
    }

    /// The derivatives of the outputs with respect to a variable, for the parameter buffer `p`. They do not read
    /// derivatives of states.
    pub fn outputs(&self, variable: Variable, t: f64, y: &[f64], p: &[f64]) -> Vec<f64> {
        let Layout { outputs, conserved, expected, .. } = self.bound.layout;
        self.derivatives((KernelRole::Outputs, outputs + conserved + expected), variable, (t, y, p))
    }

    fn derivatives(
        &self,
        (role, len): (KernelRole, usize),
        variable: Variable,
        (t, y, p): (f64, &[f64], &[f64]),
    ) -> Vec<f64> {
        let seed = |x: f64, on: bool| Dual64::new(x, if on { 1.0 } else { 0.0 });
        let y: Vec<Dual64> = y.iter().enumerate().map(|(i, &x)| seed(x, variable == Variable::State(i))).collect();
        let given = p.iter().enumerate().map(|(i, &x)| seed(x, variable == Variable::Parameter(i)));
        let given: Vec<Dual64> = given.collect();
        let mut p = given.clone();
        let zero = Dual64::constant(0.0);
        let interpreter = self.interpreter.get_or_init(|| Interpreter::new(self.program));
        let prepare = Inputs { t: zero, y: &[], p: &given, w: &[] };
        interpreter.run(self.program, self.bound, KernelRole::Prepare, prepare, &mut p);
        let mut out = vec![zero; len];
        let inputs = Inputs { t: seed(t, variable == Variable::Time), y: &y, p: &p, w: &[] };
        interpreter.run(self.program, self.bound, role, inputs, &mut out);
        out.iter().map(|d| d.eps).collect()
    }
}
