//! `auto`: alternates between an explicit and an implicit method, depending on the stiffness of the problem.
//!
//! Both are prepared at the start, so that a switch costs only the first evaluations of the other method. Size, mass
//! matrix and tolerance determine the pair ([`method_pair`]); `driver` decides during the run which of them steps.

mod decay;
mod driver;
mod history;
mod limits;
mod spectral;

pub use history::{ChoiceReason, Leg, MethodHistory};

use crate::integrator::Integrator;
use crate::linear::LinearSolver;
use crate::method::{self, Adaptive, Family, Method, Setup, Stability, Structure};
use crate::problem::{Options, Refusal};
use crate::system::{Mass, System};

/// Up to this many unknowns a Rosenbrock method needs the least work to an error: on problems of 80 to 1,000 unknowns
/// with sparse matrices it takes up to twice the time of BDF for a tenth of the error, and it follows stiff
/// oscillations, where BDF fails (decision 0018). Above it, factors of full matrices cost too much at every step.
pub const SMALL: usize = 200;
/// Below this relative tolerance the explicit method of order 7 pays: over 75 problems `auto` with this method takes
/// 1.05, 0.96 and 0.88 of the time with that of order 5 at rtol 1e-4, 1e-5 and 1e-6, for a quarter to a third of the
/// error; to the same error 0.8 to 0.9 (decision 0013).
pub const TIGHT_EXPLICIT: f64 = 3e-4;
/// Below this relative tolerance the methods of order 9 pay.
pub const TIGHTEST_EXPLICIT: f64 = 1e-9;
/// Below this relative tolerance the Taylor series method pays, if its code is short.
pub const TIGHT_SERIES: f64 = 1e-6;
/// Below this relative tolerance the Rosenbrock method of order 5 pays: over 28 stiff problems compared at the error
/// that the method of order 4 makes at 1e-3, 3e-4, 1e-4, 1e-5, 1e-6 and 1e-8, on the geometric mean 0.96, 0.85, 0.80,
/// 0.72, 0.59 and 0.37 of the work (decision 0012).
pub const TIGHT_ROSENBROCK: f64 = 5e-4;
/// Below this relative tolerance RADAU5 is more reliable than a Rosenbrock method, whose rounding errors grow with
/// stiffness.
pub const TIGHTEST: f64 = 1e-10;

/// Smallest relative tolerance that a method uses: closer to rounding, stages no longer show stiffness.
const MIN_RTOL: f64 = 1e-11;

/// Start of stiffness and limit of the Adams methods on the negative real axis, chosen within the range of their
/// orders: order 9 is stable up to 0.44, order 3 up to 2.4 (`odec stability --method abm`).
const ADAMS: (f64, f64) = (0.3, 1.0);

/// The facts that determine the choice.
#[derive(Clone, Copy, Debug)]
pub struct Traits {
    /// Unknowns of the first-order view.
    pub n: usize,
    /// True if the steps are constant.
    pub fixed: bool,
    /// Relative tolerance.
    pub rtol: f64,
    /// True if M depends on time or state.
    pub moving_mass: bool,
    /// True if the Taylor coefficients are available as short code; determined only below [`TIGHT_SERIES`].
    pub series: bool,
}

/// The methods that a run needs.
#[derive(Clone, Copy, Debug)]
pub struct MethodPair {
    /// For nonstiff parts; `None` if only an implicit method can solve the problem.
    pub explicit: Option<&'static Method>,
    /// For stiff parts.
    pub implicit: &'static Method,
}

/// The explicit Runge-Kutta method for a tolerance.
fn runge_kutta(rtol: f64) -> &'static Method {
    if rtol < TIGHTEST_EXPLICIT {
        &method::explicit::vern9::METHOD
    } else if rtol < TIGHT_EXPLICIT {
        &method::explicit::vern7::METHOD
    } else {
        &method::explicit::tsit5::METHOD
    }
}

/// The fraction of the tolerance that a method uses here. The errors of many steps add up, and a model may amplify
/// them; with these fractions, the error of a run is below the tolerance, or near it, on most problems (decision 0052).
/// RADAU5 achieves this with the full tolerance.
fn tolerance_fraction(method: &Method) -> f64 {
    match method.family {
        Family::RungeKutta(_) => 0.04,
        Family::Rosenbrock(_) | Family::Multistep => 0.05,
        Family::Taylor => 0.03,
        _ => 1.0,
    }
}

/// A further factor on the absolute tolerance. A population that decays far below its largest value, and later grows
/// by itself, keeps the error of its low (decisions 0039, 0043 and 0052).
fn small_state_fraction(method: &Method) -> f64 {
    match method.family {
        Family::RungeKutta(_) => 0.5,
        Family::Taylor => 0.15,
        _ => 1.0,
    }
}

/// The options of a run for `method` as one of its two methods.
pub fn working_options(options: &Options, method: &Method) -> Options {
    let (relative, absolute) = tolerance_fractions(options, method);
    let rtol = relative * options.rtol;
    Options { rtol, atol: options.atol.iter().map(|atol| atol * absolute).collect(), ..options.clone() }
}

/// The fractions of the relative and of the absolute tolerances that `method` works to.
fn tolerance_fractions(options: &Options, method: &Method) -> (f64, f64) {
    let least = MIN_RTOL.min(options.rtol);
    let part = (tolerance_fraction(method) * options.rtol).max(least) / options.rtol;
    (part, part * small_state_fraction(method))
}

/// The methods for a problem of these traits.
pub fn method_pair(traits: &Traits) -> MethodPair {
    let Traits { n, fixed, rtol, moving_mass, series } = *traits;
    if fixed {
        let implicit = if moving_mass { &method::multistep::BDF2 } else { &method::rosenbrock::rodas4::METHOD };
        return MethodPair { explicit: None, implicit };
    }
    let explicit = if series && rtol < TIGHT_SERIES { &method::taylor::METHOD } else { runge_kutta(rtol) };
    let implicit = if n > SMALL {
        &method::multistep::BDF
    } else if moving_mass || rtol < TIGHTEST {
        &method::radau::radau5::METHOD
    } else if rtol < TIGHT_ROSENBROCK {
        &method::rosenbrock::rodas5p::METHOD
    } else {
        &method::rosenbrock::rodas4::METHOD
    };
    MethodPair { explicit: Some(explicit), implicit }
}

/// The smallest h times spectral radius at which stability, not accuracy, limits the steps of an explicit method at
/// this tolerance, and the limit of h*lambda on the negative real axis; `None` if nothing is known.
pub fn stiffness_limits(method: &'static Method, rtol: f64, n: usize) -> Option<(f64, f64)> {
    match method.family {
        Family::RungeKutta(_) | Family::Taylor => Some(limits::bounds(method, rtol, n)),
        Family::Multistep if method.stability == Stability::Bounded => Some(ADAMS),
        _ => None,
    }
}

/// True if the explicit method is the Taylor series method.
pub fn uses_series(system: &dyn System, options: &Options) -> bool {
    let order = method::taylor::order_for(options.rtol, system.shape().n) as usize;
    let allowed = options.series && !options.fixed && options.rtol < TIGHT_SERIES;
    allowed && system.series().is_some_and(|series| series.is_short(order))
}

/// The methods between which a run of this system alternates. Without an explicit one, the implicit method takes all
/// steps.
pub fn methods_of(system: &dyn System, options: &Options) -> MethodPair {
    let pair = prepared(system, options);
    MethodPair { explicit: pair.explicit.filter(|_| !algebraic(system)), ..pair }
}

/// The methods that a run prepares.
fn prepared(system: &dyn System, options: &Options) -> MethodPair {
    let traits = Traits {
        n: system.shape().n,
        fixed: options.fixed,
        rtol: options.rtol,
        moving_mass: matches!(system.mass(), Mass::StateDependent { .. }),
        series: uses_series(system, options),
    };
    let pair = method_pair(&traits);
    // An iterative linear solver leaves an error, which only methods with a Newton iteration tolerate.
    if options.linear == LinearSolver::Krylov || !system.holds_jacobian() {
        let implicit = if traits.fixed { &method::multistep::BDF2 } else { &method::multistep::BDF };
        return MethodPair { implicit, ..pair };
    }
    pair
}

fn build(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    let MethodPair { explicit, implicit } = prepared(setup.system, setup.options);
    if setup.options.fixed {
        return (implicit.build)(&Setup { method: implicit, ..*setup });
    }
    Ok(Box::new(driver::Auto::new(setup, explicit, implicit)?))
}

/// True if some equation has no derivative at any time and state.
fn algebraic(system: &dyn System) -> bool {
    match system.mass() {
        Mass::Identity => false,
        Mass::Constant(pattern, _) | Mass::StateDependent { pattern, .. } => {
            let mut empty = vec![true; pattern.rows as usize];
            pattern.row_idx.iter().for_each(|row| empty[*row as usize] = false);
            empty.contains(&true)
        }
    }
}

/// The entry of `auto`, which is not in the table because it has no formula.
pub static METHOD: Method = Method {
    name: "auto",
    aliases: &["automatic", "default"],
    about: "switches between an explicit and an implicit method as the stiffness changes; the default",
    order: 5,
    stages: 7,
    family: Family::Automatic,
    stability: Stability::L,
    adaptive: Adaptive::VariableOrder,
    dense_order: 3,
    structure: Structure { jacobian: true, time_derivative: true },
    source: "Hairer & Wanner II, section IV.2 (detection of stiffness)",
    build,
};
