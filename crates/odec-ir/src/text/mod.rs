//! The text form of a program: written by `Display`, read by [`crate::Program::parse`].
//!
//! ```text
//! program robertson
//! first-order y1                          @ 45..47
//! parameter k1 = 0.04 unit "1/s" doc "slow step"
//! kernel rhs
//!   %0 = y1
//!   %1 = k1
//!   %2 = mul %0 %1                        @ 120..125
//!   %3 = 0.5
//!   %4 = time
//!   y1 = %2
//! kernel jacobian
//!   %0 = k1
//!   y1 / y1 += %0
//! ```
//!
//! With index sets there are extents, axes and loops, and elements are named by accesses:
//!
//! ```text
//! program rod
//! extent N = 200
//! axis i = 1 .. {N}
//! first-order u [i]
//! size N = 200
//! kernel rhs boundary                     `interior`, `boundary`; nothing: all points
//!   loop i = 1 .. {N}
//!   over i
//!   margin i-1 in i
//!   access u[i-1|]                        the subscript stays at the end (`~`: comes in again)
//!   ?0 = index i                          nodes of the guards
//!   access u[i+1]?2                       where node 2 of the guards holds
//!   access u[@next[i]+1]                  through a table
//!   %0 = u[i-1|]
//!   %1 = index i
//!   %2 = reduce.sum i %0
//!   u[i] = %0                             `+=` adds
//!   u[i] / u[i-1|] += %1
//! ```
//!
//! Numbers are the shortest decimals that read back to the same bits. If a name is not a word, or several inputs or an
//! output and another array have the same name, its position among the arrays is written instead: `#7`. `w(y1)` is an
//! element of the direction of a tangent kernel. After `@` come the source ranges `start..end`, with a prefix `file:`
//! unless the file is 0.

mod labels;
mod read;
mod read_kernel;
mod write;

pub use read::TextError;

use crate::program::{KernelRole, Role};

const ROLES: [(Role, &str); 13] = [
    (Role::Position, "position"),
    (Role::Velocity, "velocity"),
    (Role::FirstOrder, "first-order"),
    (Role::Parameter, "parameter"),
    (Role::Staged, "staged"),
    (Role::Size, "size"),
    (Role::Table, "table"),
    (Role::Discrete, "discrete"),
    (Role::Mode, "mode"),
    (Role::Side, "side"),
    (Role::Output, "output"),
    (Role::Conserved, "conserved"),
    (Role::Expected, "expected"),
];

const KERNELS: [(KernelRole, &str); 11] = [
    (KernelRole::Prepare, "prepare"),
    (KernelRole::Initial, "initial"),
    (KernelRole::Rhs, "rhs"),
    (KernelRole::Jacobian, "jacobian"),
    (KernelRole::Tangent, "tangent"),
    (KernelRole::TimeDerivative, "time-derivative"),
    (KernelRole::ParameterJacobian, "parameter-jacobian"),
    (KernelRole::Mass, "mass"),
    (KernelRole::MassJacobian, "mass-jacobian"),
    (KernelRole::MassTimeDerivative, "mass-time-derivative"),
    (KernelRole::Outputs, "outputs"),
];

/// True for names that the text form writes without quotation: words with primes and dots, except for words that mean
/// a number or time.
fn is_word(name: &str) -> bool {
    let mut chars = name.chars();
    chars.next().is_some_and(|c| c.is_alphabetic() || c == '_')
        && chars.all(|c| c.is_alphanumeric() || matches!(c, '_' | '\'' | '.'))
        && !name.eq_ignore_ascii_case("nan")
        && !name.eq_ignore_ascii_case("inf")
        && !name.eq_ignore_ascii_case("infinity")
        && name != "time"
}
