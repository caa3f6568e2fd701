//! Errors between a program and its machine code.

use odec_ir::KernelRole;

/// The reason why a program was not compiled to machine code.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JitError {
    /// The code generator does not know this processor or operating system.
    UnsupportedHost(String),
    /// A builtin calls a function of the C library that is not in the table of `libm`.
    UnknownFunction(String),
    /// A builtin passes another number of arguments than the function of the C library takes.
    WrongArity {
        /// The function.
        function: String,
        /// Arguments it takes.
        takes: usize,
        /// Arguments that it was given.
        given: usize,
    },
    /// A buffer of the kernel has more elements than [`MAX_BUFFER`](crate::MAX_BUFFER) or [`MAX_GIVEN`](crate::MAX_GIVEN).
    BufferTooLong {
        /// The kernel.
        role: KernelRole,
        /// Elements of the buffer.
        length: usize,
        /// The limit.
        most: usize,
    },
    /// The kernel keeps more live values than [`MAX_SCRATCH`](crate::MAX_SCRATCH).
    TooManyLiveValues {
        /// The kernel.
        role: KernelRole,
        /// Number of values.
        values: usize,
    },
    /// Loops are nested more deeply than [`MAX_LOOPS`](crate::MAX_LOOPS).
    TooManyLoops,
    /// A bound program or matrix does not belong to the compiled program, or none has been loaded.
    NotBound(String),
    /// An inconsistent program, which lowering never makes.
    Malformed(String),
    /// No C identifier can begin with this prefix.
    BadPrefix(String),
    /// The code generator failed: out of memory, or its own limits.
    Backend(String),
}

impl JitError {
    /// True for a bug in odec, as opposed to a fault of the model or the computer: lowering and binding never make
    /// such programs.
    pub fn is_bug(&self) -> bool {
        matches!(
            self,
            JitError::UnknownFunction(_)
                | JitError::WrongArity { .. }
                | JitError::NotBound(_)
                | JitError::Malformed(_)
                | JitError::BadPrefix(_)
        )
    }
}

/// What was made; `None` if the program is too large for it or the computer cannot do it, so that a slower way remains.
///
/// # Panics
/// For a bug in odec, which a slower run would hide.
pub fn unless_unsuitable<T>(made: Result<T, JitError>) -> Option<T> {
    match made {
        Ok(made) => Some(made),
        Err(bug) if bug.is_bug() => odec_ir::broken(&bug.to_string()),
        Err(_) => None,
    }
}

impl std::fmt::Display for JitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            JitError::UnsupportedHost(why) => write!(f, "odec cannot generate machine code for this computer: {why}"),
            JitError::UnknownFunction(name) => write!(f, "`{name}` is not a function that compiled code may call"),
            JitError::WrongArity { function, takes, given } => {
                write!(f, "`{function}` takes {takes} arguments, not {given}")
            }
            JitError::BufferTooLong { role, length, most } => {
                write!(f, "{} takes {length} values; at most {most} are possible", of(*role))
            }
            JitError::TooManyLiveValues { role, values } => write!(
                f,
                "{} keeps {values} intermediate values at a time; at most {} are possible",
                of(*role),
                crate::MAX_SCRATCH
            ),
            JitError::TooManyLoops => write!(f, "at most {} loops may be nested", crate::MAX_LOOPS),
            JitError::NotBound(why) => write!(f, "the bound program does not match the code: {why}"),
            JitError::Malformed(why) => write!(f, "the program contradicts itself: {why}"),
            JitError::BadPrefix(prefix) => write!(f, "`{prefix}` cannot begin a C identifier"),
            JitError::Backend(why) => write!(f, "code generation failed: {why}"),
        }
    }
}

/// The purpose of a kernel, in terms of the model.
fn of(role: KernelRole) -> &'static str {
    match role {
        KernelRole::Prepare => "values of parameters alone",
        KernelRole::Initial => "the initial state",
        KernelRole::Rhs => "the right-hand side of the equations",
        KernelRole::Jacobian => "the Jacobian matrix",
        KernelRole::Tangent => "the Jacobian times a vector",
        KernelRole::TimeDerivative => "the derivative with respect to time",
        KernelRole::ParameterJacobian => "the derivative with respect to the parameters",
        KernelRole::Mass => "the mass matrix",
        KernelRole::MassJacobian | KernelRole::MassTimeDerivative => "the derivative of the mass matrix",
        KernelRole::Outputs => "what is recorded",
    }
}

impl std::error::Error for JitError {}

impl From<cranelift_module::ModuleError> for JitError {
    fn from(error: cranelift_module::ModuleError) -> JitError {
        JitError::Backend(error.to_string())
    }
}

impl From<odec_ir::Malformed> for JitError {
    fn from(error: odec_ir::Malformed) -> JitError {
        JitError::Malformed(error.to_string())
    }
}
