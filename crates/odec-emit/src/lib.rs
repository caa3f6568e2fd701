//! Writes a program in another language, one file per target.
//!
//! | target | file |
//! |---|---|
//! | C source with the interface of [`odec_ir::interface`] | `c.rs`, loops in `nests.rs` |
//! | the same of a model with events: guards, modes, assignments | `hybrid.rs` |
//! | files of an FMU for FMI 3.0: XML and C | `fmu.rs` |
//! | header for that C source and for the object file of `odec-jit` | `header.rs` |
//!
//! A new target is one file with a function from program and [`Options`] to text, and what
//! `docs/dev/adding-an-emit-target.md` says for the command line.

mod c;
mod driver;
mod fmu;
mod header;
mod hybrid;
mod literal;
mod nests;

pub use c::c_source;
pub use driver::{Inputs, c_driver, driver_input, driver_transcript};
pub use fmu::{Fmu, FmuContext, FmuUnit, MAX_VARIABLES, fmu};
pub use header::c_header;
pub use hybrid::{c_header_with_events, c_source_with_events};

use odec_ir::interface;
use odec_ir::nest::bind::BindError;
use odec_ir::{Malformed, Program};

/// The options of a caller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// The prefix of every symbol, before an underscore; see [`interface::is_prefix`].
    pub prefix: String,
}

impl Options {
    /// Options with a prefix derived from the name of the program.
    pub fn of(program: &Program) -> Options {
        Options { prefix: interface::prefix_of(&program.name) }
    }
}

/// The reason why a program was not written.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum EmitError {
    /// No identifier can begin with this prefix.
    BadPrefix(String),
    /// The extents or tables do not fit the model.
    NotBound(BindError),
    /// The model has a mass matrix or algebraic unknowns, but the target supports only y' = f.
    NotExplicit,
    /// The model has this many variables, more than [`MAX_VARIABLES`].
    TooManyVariables(usize),
    /// An inconsistent program, which lowering never makes.
    Malformed(Malformed),
}

impl std::fmt::Display for EmitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            EmitError::BadPrefix(prefix) => write!(f, "`{prefix}` cannot begin a C identifier"),
            EmitError::NotExplicit => write!(f, "the equations are not explicit in all derivatives"),
            EmitError::TooManyVariables(n) => write!(f, "{n} variables are more than {MAX_VARIABLES}"),
            EmitError::NotBound(why) => write!(f, "the sizes do not fit: {why}"),
            EmitError::Malformed(why) => write!(f, "the program contradicts itself: {why}"),
        }
    }
}

impl std::error::Error for EmitError {}

impl From<Malformed> for EmitError {
    fn from(why: Malformed) -> EmitError {
        EmitError::Malformed(why)
    }
}

impl From<BindError> for EmitError {
    fn from(why: BindError) -> EmitError {
        EmitError::NotBound(why)
    }
}

/// Refuses a prefix that no identifier can begin with.
fn checked_prefix(options: &Options) -> Result<&str, EmitError> {
    let prefix = options.prefix.as_str();
    if interface::is_prefix(prefix) { Ok(prefix) } else { Err(EmitError::BadPrefix(prefix.to_string())) }
}
