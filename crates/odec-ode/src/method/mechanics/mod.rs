//! Methods for x'' only. They check the system, and the refusal names the missing property.

pub mod alpha;
pub mod generalized_alpha;
pub mod newmark;
pub mod splitting;
pub mod symplectic_euler;
pub mod velocity_verlet;
pub mod yoshida4;

pub use alpha::Parameters;
pub use splitting::{Composition, Part};

use crate::method::Setup;
use crate::pattern::Pattern;
use crate::problem::Refusal;
use crate::system::Mass;

fn unsuitable(setup: &Setup<'_>, reason: &str, instead: &str) -> Refusal {
    Refusal::Unsuitable {
        method: setup.method.name.to_string(),
        reason: reason.to_string(),
        instead: instead.to_string(),
    }
}

/// Refuses everything except M x'' = F(t, x, x') with a constant M.
fn pure_second_order(setup: &Setup<'_>) -> Result<(), Refusal> {
    let shape = setup.system.shape();
    if shape.second == 0 {
        return Err(unsuitable(
            setup,
            "it needs equations for x'', and this model has no second-order equation",
            "`dopri5`, or `rodas4` if the problem is stiff; or write the model with x''",
        ));
    }
    if shape.n != 2 * shape.second {
        return Err(unsuitable(
            setup,
            "it needs equations for x'' only, and this model also has first-order unknowns",
            "`dopri5`, or `rodas4` if the problem is stiff",
        ));
    }
    if matches!(setup.system.mass(), Mass::StateDependent { .. }) {
        return Err(unsuitable(
            setup,
            "it needs a constant mass matrix, and this one depends on time or state",
            "`implicit-midpoint`, `dopri5` or `bdf`",
        ));
    }
    Ok(())
}

/// Refuses runs without a constant step.
fn equal_steps(setup: &Setup<'_>, reason: &str) -> Result<(), Refusal> {
    if setup.options.fixed {
        return Ok(());
    }
    Err(unsuitable(
        setup,
        reason,
        "a constant step, `step = 0.01` in the run block or `--step 0.01`; or `dop853` or `dopri5`, which choose their steps",
    ))
}

/// Refuses accelerations that depend on velocities, according to the pattern of the Jacobian.
fn free_of_velocities(setup: &Setup<'_>) -> Result<(), Refusal> {
    let second = setup.system.shape().second;
    let free = |pattern: &Pattern| pattern.positions().all(|(row, col)| row < second || col < second);
    if setup.system.jacobian().pattern().is_none_or(free) {
        return Ok(());
    }
    Err(unsuitable(
        setup,
        "it needs accelerations that do not depend on velocities, and these do",
        "`newmark`, `generalized-alpha` or `implicit-midpoint`, or `dop853` with a tolerance",
    ))
}
