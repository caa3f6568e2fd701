//! The class of a diagnostic: the source of the error, and the exit code of the process.

/// Whose fault something is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// A warning or a note: the command continues.
    Advice,
    /// The model is wrong.
    Model,
    /// A setting of the run is invalid. If the diagnostic points to the model, the fault is in the model, otherwise
    /// in the request: see [`super::super::Diagnostic::class`].
    Setting,
    /// The request is wrong: a flag, an argument, a name that the model does not have.
    Usage,
    /// The run failed; its rows so far are valid.
    Run,
    /// An `expect` or `conserve` line does not hold.
    Promise,
    /// A file cannot be read or written.
    Io,
    /// odec itself is wrong.
    Internal,
}

impl Class {
    /// All classes.
    pub const ALL: [Class; 8] = [
        Class::Advice,
        Class::Model,
        Class::Setting,
        Class::Usage,
        Class::Run,
        Class::Promise,
        Class::Io,
        Class::Internal,
    ];

    /// The exit code of a process that ends with a diagnostic of this class. The numbers are part of the interface.
    pub const fn exit_code(self) -> u8 {
        match self {
            Class::Advice => 0,
            Class::Model => 1,
            Class::Setting | Class::Usage => 2,
            Class::Run => 3,
            Class::Promise => 4,
            Class::Io => 5,
            Class::Internal => 70,
        }
    }

    /// A short description of the class.
    pub const fn meaning(self) -> &'static str {
        match self {
            Class::Advice => "advice: nothing ends",
            Class::Model => "the model is wrong",
            Class::Setting => "the command line is wrong, or the model if it contains the setting",
            Class::Usage => "the command line is wrong",
            Class::Run => "the run failed; odec keeps the rows up to the failure",
            Class::Promise => "an `expect` or `conserve` line is not satisfied",
            Class::Io => "a file cannot be read or written",
            Class::Internal => "a bug in odec",
        }
    }

    /// False for advice.
    pub const fn ends(self) -> bool {
        !matches!(self, Class::Advice)
    }
}
