//! The table of methods, one row each. Drivers (families) do not refer to single methods; each row gives its coefficients.

pub mod auto;
pub mod continuous;
pub mod dirk;
pub mod explicit;
pub mod implicit;
pub mod mechanics;
pub mod multistep;
pub mod one_step;
mod passes;
pub mod polynomial;
pub mod radau;
pub mod rosenbrock;
pub mod runge_kutta;
pub mod taylor;

use crate::integrator::Integrator;
use crate::problem::{Options, Refusal};
use crate::system::System;

/// The inputs from which a method is built.
pub struct Setup<'a> {
    /// The system.
    pub system: &'a dyn System,
    /// The row of the method.
    pub method: &'static Method,
    /// The options of the run.
    pub options: &'a Options,
}

/// Family, with the coefficients if these are data.
#[derive(Clone, Copy, Debug)]
pub enum Family {
    /// Explicit Runge-Kutta.
    RungeKutta(&'static runge_kutta::ExplicitTableau),
    /// Rosenbrock (linearly implicit, exact Jacobian and df/dt).
    Rosenbrock(&'static rosenbrock::RosenbrockTableau),
    /// Implicit Runge-Kutta.
    ImplicitRungeKutta(&'static dirk::DirkTableau),
    /// Implicit one-step method with this formula.
    ImplicitOneStep {
        /// Numerator of the stability function R(z), lowest power first.
        numerator: &'static [f64],
        /// Its denominator.
        denominator: &'static [f64],
    },
    /// Linear multistep.
    Multistep,
    /// No formula: a combination of methods of other families.
    Automatic,
    /// Taylor series of the solution, for a system that provides its coefficients.
    Taylor,
    /// For x'' = a(t, x): alternating kicks and drifts.
    Splitting(&'static mechanics::Composition),
    /// For M x'' = F(t, x, x') only: Newmark and generalised alpha.
    Alpha(&'static mechanics::Parameters),
}

impl Family {
    /// The name that `odec methods` prints.
    pub fn name(&self) -> &'static str {
        match self {
            Family::RungeKutta(_) => "explicit Runge-Kutta",
            Family::Rosenbrock(_) => "Rosenbrock",
            Family::ImplicitRungeKutta(_) => "implicit Runge-Kutta",
            Family::ImplicitOneStep { .. } => "implicit one-step",
            Family::Multistep => "multistep",
            Family::Automatic => "automatic",
            Family::Taylor => "Taylor series",
            Family::Splitting(_) => "symplectic, on x''",
            Family::Alpha(_) => "implicit, on x''",
        }
    }
}

/// Linear stability.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stability {
    /// A bounded region.
    Bounded,
    /// A(alpha)-stable, alpha in degrees, and L-stable in that sector.
    Sector(u32),
    /// A-stable.
    A,
    /// L-stable.
    L,
}

impl std::fmt::Display for Stability {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Stability::Bounded => write!(f, "none"),
            Stability::Sector(degrees) => write!(f, "A({degrees})"),
            Stability::A => write!(f, "A"),
            Stability::L => write!(f, "L"),
        }
    }
}

/// How a run without a fixed step controls the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adaptive {
    /// Embedded estimate of this order.
    Embedded(u32),
    /// Two embedded estimates of these orders, p and q, combined into one of order 2p - q.
    EmbeddedTwo(u32, u32),
    /// Step doubling.
    Doubling,
    /// Variable step; the error estimate is the difference to the predictor.
    VariableStep,
    /// Variable step and order.
    VariableOrder,
    /// None: equal steps only.
    FixedStep,
}

impl std::fmt::Display for Adaptive {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Adaptive::Embedded(order) => write!(f, "embedded, order {order}"),
            Adaptive::EmbeddedTwo(order, second) => write!(f, "embedded, orders {order} and {second}"),
            Adaptive::Doubling => write!(f, "step doubling"),
            Adaptive::VariableStep => write!(f, "variable step"),
            Adaptive::VariableOrder => write!(f, "variable step and order"),
            Adaptive::FixedStep => write!(f, "constant steps only"),
        }
    }
}

/// The parts of the system, in addition to f, that a method uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Structure {
    /// df/dy, and thus the second-order reduction and singular mass matrices.
    pub jacobian: bool,
    /// df/dt.
    pub time_derivative: bool,
}

/// One row of the table.
pub struct Method {
    /// Name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// One line for users.
    pub about: &'static str,
    /// Order of convergence (of the highest order for variable order).
    pub order: u32,
    /// Stages, or steps of a multistep method.
    pub stages: u32,
    /// Family.
    pub family: Family,
    /// Linear stability.
    pub stability: Stability,
    /// Error control of runs without a fixed step.
    pub adaptive: Adaptive,
    /// Order of the dense output.
    pub dense_order: u32,
    /// The parts of the system that the method uses.
    pub structure: Structure,
    /// Paper or book.
    pub source: &'static str,
    /// Builds the integrator.
    pub build: fn(&Setup<'_>) -> Result<Box<dyn Integrator>, Refusal>,
}

impl std::fmt::Debug for Method {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Method({})", self.name)
    }
}

static TABLE: &[&Method] = &[
    &explicit::euler::METHOD,
    &explicit::midpoint::METHOD,
    &explicit::heun::METHOD,
    &explicit::ralston::METHOD,
    &explicit::ssprk33::METHOD,
    &explicit::rk4::METHOD,
    &explicit::bs32::METHOD,
    &explicit::rkf45::METHOD,
    &explicit::cash_karp::METHOD,
    &explicit::dopri5::METHOD,
    &explicit::tsit5::METHOD,
    &explicit::vern7::METHOD,
    &explicit::vern9::METHOD,
    &explicit::dop853::METHOD,
    &taylor::METHOD,
    &implicit::backward_euler::METHOD,
    &implicit::linearised_backward_euler::METHOD,
    &implicit::trapezoidal::METHOD,
    &implicit::midpoint::METHOD,
    &dirk::sdirk2::METHOD,
    &dirk::tr_bdf2::METHOD,
    &dirk::kencarp4::METHOD,
    &radau::radau5::METHOD,
    &rosenbrock::ros2::METHOD,
    &rosenbrock::rodas3::METHOD,
    &rosenbrock::rodas4::METHOD,
    &rosenbrock::rodas5p::METHOD,
    &mechanics::symplectic_euler::METHOD,
    &mechanics::velocity_verlet::METHOD,
    &mechanics::yoshida4::METHOD,
    &mechanics::newmark::METHOD,
    &mechanics::generalized_alpha::METHOD,
    &multistep::ABM,
    &multistep::ABM2,
    &multistep::ABM3,
    &multistep::ABM4,
    &multistep::BDF1,
    &multistep::BDF2,
    &multistep::BDF3,
    &multistep::BDF4,
    &multistep::BDF5,
    &multistep::BDF6,
    &multistep::BDF,
];

/// All methods.
pub fn table() -> &'static [&'static Method] {
    TABLE
}

/// The methods for any system: without those for x'' only and those that need more than f and its derivatives.
pub fn general() -> impl Iterator<Item = &'static Method> {
    TABLE.iter().copied().filter(|m| !matches!(m.family, Family::Splitting(_) | Family::Alpha(_) | Family::Taylor))
}

/// The method of this name or alias, [`auto`] included.
pub fn find(name: &str) -> Result<&'static Method, Refusal> {
    let rows = TABLE.iter().copied().chain([&auto::METHOD]);
    if let Some(method) = rows.into_iter().find(|m| m.name == name || m.aliases.contains(&name)) {
        return Ok(method);
    }
    match name.strip_prefix("bdf").and_then(|order| order.parse::<u32>().ok()) {
        Some(order) if order > 6 => Err(Refusal::NotZeroStable(order)),
        _ => Err(Refusal::UnknownMethod(name.to_string())),
    }
}
