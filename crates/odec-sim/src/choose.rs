//! The method of a run that names none. The rule is short, looks at structure only, and its reason is printed.

use odec_ode::method::{self, Method};
use odec_ode::problem::Refusal;

/// Up to this many unknowns a Rosenbrock method of order 4 needs the least work at usual tolerances: its several solves
/// per step cost little against f and J. Beyond, factoring at every step costs more than BDF, which seldom does.
const SMALL: usize = 40;

/// What the model looks like.
#[derive(Clone, Copy, Debug)]
pub struct Structure {
    /// Unknowns of the first-order view.
    pub n: usize,
    /// Constant steps are asked for.
    pub fixed: bool,
    /// The mass matrix depends on time or state, which Rosenbrock methods do not take.
    pub moving_mass: bool,
}

/// The method and why it was chosen; no reason when the user chose it.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The method.
    pub method: &'static Method,
    /// One line, if the choice was made here.
    pub reason: Option<String>,
}

/// The method called `name`, or for `auto` and `None` one that integrates stiff and nonstiff models alike.
pub fn choose(name: Option<&str>, structure: Structure) -> Result<Choice, Refusal> {
    if let Some(name) = name.filter(|n| *n != "auto") {
        return Ok(Choice { method: method::find(name)?, reason: None });
    }
    let (name, reason) = if structure.moving_mass {
        let why = "factors of the derivatives that change, stiff or not";
        (if structure.fixed { "bdf2" } else { "bdf" }, why.to_string())
    } else if structure.fixed {
        ("rodas4", "constant steps, stiff or not".to_string())
    } else if structure.n <= SMALL {
        ("rodas4", format!("{}, stiff or not: order 4 with the exact Jacobian", unknowns(structure.n)))
    } else {
        ("bdf", format!("{}, stiff or not: few factorisations", unknowns(structure.n)))
    };
    Ok(Choice { method: method::find(name)?, reason: Some(reason) })
}

fn unknowns(n: usize) -> String {
    if n == 1 { "1 unknown".to_string() } else { format!("{n} unknowns") }
}
