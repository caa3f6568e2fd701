//! Exit codes of the process. They are part of the interface: each is named once and never changes. The table of
//! codes defines the exit code of each diagnostic.

use odec_lang::diagnostic::Class;

/// How the process ended. The numbers are documented in `--help` and in `docs/command.md`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success; also if the reader of a pipe (`| head`) closed it early.
    Success,
    /// A failure that a diagnostic of this class explains.
    Because(Class),
    /// Stopped by Ctrl-C or another termination signal; the rows so far are kept.
    Interrupted,
}

impl Exit {
    /// The command line is wrong.
    pub const USAGE: Exit = Exit::Because(Class::Usage);
    /// The run failed.
    pub const RUN: Exit = Exit::Because(Class::Run);
    /// An expectation of the model does not hold.
    pub const PROMISE: Exit = Exit::Because(Class::Promise);
    /// There is a bug in odec.
    pub const INTERNAL: Exit = Exit::Because(Class::Internal);

    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::Because(class) => class.exit_code(),
            Exit::Interrupted => 130,
        }
    }

    /// This exit code, or `other` if this one is success.
    pub fn or(self, other: Exit) -> Exit {
        if self == Exit::Success { other } else { self }
    }
}

impl From<Class> for Exit {
    fn from(class: Class) -> Exit {
        if class.ends() { Exit::Because(class) } else { Exit::Success }
    }
}

/// The table shown at the end of `odec --help`.
pub const HELP: &str = "\
Exit codes:
    0  success, also if the reader of a pipe stops reading
    1  the model is wrong
    2  the command line is wrong
    3  the run failed; odec keeps the rows up to the failure
    4  an `expect` or `conserve` line is not satisfied
    5  a file cannot be read or written
   70  a bug in odec
  130  stopped by Ctrl-C, SIGTERM or SIGHUP; odec keeps the rows up to then";

#[cfg(test)]
mod tests {
    use super::{Class, Exit, HELP};

    #[test]
    fn the_help_has_the_code_of_every_class() {
        for class in Class::ALL.into_iter().filter(|class| class.ends() && *class != Class::Setting) {
            let line = format!("{:>5}  {}", class.exit_code(), class.meaning());
            assert!(HELP.lines().any(|l| l == line), "{line}");
        }
        assert!(HELP.lines().any(|l| l.starts_with(&format!("{:>5}  stopped", Exit::Interrupted.code()))));
    }
}
