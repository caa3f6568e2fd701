//! Linear multistep methods: backward differentiation of fixed order, and of variable step and order.

pub mod abm;
pub mod bdf;
pub mod coefficients;
mod differences;
pub mod ndf;
mod slope;
pub mod starter;

use crate::integrator::Integrator;
use crate::method::{Adaptive, Family, Method, Setup, Stability, Structure};
use crate::problem::Refusal;

const USES: Structure = Structure { jacobian: true, time_derivative: false };
const BDF_SOURCE: &str = "Gear 1971; Hairer, Nørsett & Wanner I, eq. (III.1.22') and section III.5 (variable steps)";

fn build_bdf(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    Ok(Box::new(bdf::Bdf::new(setup.system, setup.method.order as usize, setup.options)?))
}

fn build_ndf(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    if setup.options.fixed {
        return Err(Refusal::Unsuitable {
            method: setup.method.name.to_string(),
            reason: "it chooses the step size and the order itself, but the run sets a constant step".to_string(),
            instead: "`bdf1` to `bdf6` with this step, or leave out the step".to_string(),
        });
    }
    Ok(Box::new(ndf::Ndf::new(setup.system, setup.options)?))
}

fn build_abm(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    if setup.options.fixed {
        return Err(Refusal::Unsuitable {
            method: setup.method.name.to_string(),
            reason: "it chooses the step size and the order itself, but the run sets a constant step".to_string(),
            instead: "`abm2`, `abm3` or `abm4` with this step, or leave out the step".to_string(),
        });
    }
    Ok(Box::new(abm::Abm::new(setup)?))
}

/// Adams-Bashforth-Moulton.
pub static ABM: Method = Method {
    name: "abm",
    aliases: &["adams", "adams-bashforth-moulton", "ode113"],
    about: "Adams-Bashforth-Moulton of variable order 1 to 12: two evaluations per step, for nonstiff problems with \
            expensive f",
    order: abm::MAX_ORDER as u32,
    stages: abm::MAX_ORDER as u32,
    family: Family::Multistep,
    stability: Stability::Bounded,
    adaptive: Adaptive::VariableOrder,
    dense_order: abm::MAX_ORDER as u32,
    structure: Structure { jacobian: false, time_derivative: false },
    source: "Shampine & Gordon 1975; Hairer, Nørsett & Wanner I, section III.5",
    build: build_abm,
};

fn build_abm_of_order(setup: &Setup<'_>) -> Result<Box<dyn Integrator>, Refusal> {
    Ok(Box::new(abm::Abm::of_order(setup)?))
}

/// Order 2, with variable or constant steps.
pub static ABM2: Method = abm_row("abm2", 2);
/// Order 3.
pub static ABM3: Method = abm_row("abm3", 3);
/// Order 4.
pub static ABM4: Method = abm_row("abm4", 4);

const fn abm_row(name: &'static str, order: u32) -> Method {
    Method {
        name,
        aliases: &[],
        about: "Adams-Bashforth-Moulton up to this order, also with constant steps: two evaluations per step",
        order,
        stages: order - 1,
        family: Family::Multistep,
        stability: Stability::Bounded,
        adaptive: Adaptive::VariableOrder,
        dense_order: if order < 3 { order } else { 3 },
        structure: Structure { jacobian: false, time_derivative: false },
        source: "Hairer, Nørsett & Wanner I, section III.1; first steps with the method of Kutta 1901",
        build: build_abm_of_order,
    }
}

/// Order 1: the backward Euler formula.
pub static BDF1: Method = bdf_row("bdf1", 1, Stability::L, "backward Euler with an error estimate from its predictor");
/// Order 2.
pub static BDF2: Method =
    bdf_row("bdf2", 2, Stability::L, "backward differentiation of order 2: two past states, damps stiff modes");
/// Order 3; the angles of stability are those of Hairer & Wanner II, table V.2.1.
pub static BDF3: Method = bdf_row("bdf3", 3, Stability::Sector(86), "backward differentiation of order 3");
/// Order 4.
pub static BDF4: Method = bdf_row("bdf4", 4, Stability::Sector(73), "backward differentiation of order 4");
/// Order 5.
pub static BDF5: Method =
    bdf_row("bdf5", 5, Stability::Sector(51), "backward differentiation of order 5: not for fast oscillations");
/// Order 6.
pub static BDF6: Method = bdf_row(
    "bdf6",
    6,
    Stability::Sector(17),
    "backward differentiation of order 6, the highest zero-stable order: for smooth solutions that only decay",
);

/// Variable step and order.
pub static BDF: Method = Method {
    name: "bdf",
    aliases: &["ndf"],
    about: "backward differentiation of variable order 1 to 5 (as NDF): large stiff problems, no constant steps",
    order: coefficients::NDF_MAX_ORDER as u32,
    stages: coefficients::NDF_MAX_ORDER as u32,
    family: Family::Multistep,
    stability: Stability::Sector(51),
    adaptive: Adaptive::VariableOrder,
    dense_order: coefficients::NDF_MAX_ORDER as u32,
    structure: USES,
    source: "Shampine & Reichelt, The MATLAB ODE Suite, SIAM J. Sci. Comput. 18 (1997)",
    build: build_ndf,
};

const fn bdf_row(name: &'static str, order: u32, stability: Stability, about: &'static str) -> Method {
    Method {
        name,
        aliases: &[],
        about,
        order,
        stages: order,
        family: Family::Multistep,
        stability,
        adaptive: Adaptive::VariableStep,
        dense_order: order,
        structure: USES,
        source: BDF_SOURCE,
        build: build_bdf,
    }
}
