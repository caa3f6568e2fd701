//! Exit codes of the process: part of the interface, hence named once and never renumbered.

use std::process::ExitCode;

/// How the process ended. The numbers are documented in `--help` and in `docs/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// All went well; also when the reader of a pipe (`| head`) had enough.
    Success = 0,
    /// The model is wrong: a diagnostic says where.
    Model = 1,
    /// The command line is wrong.
    Usage = 2,
    /// The run failed; the rows so far are kept.
    Run = 3,
    /// An `expect` or `conserve` of the model is not met.
    Test = 4,
    /// A file cannot be read or written.
    File = 5,
    /// odec itself is wrong.
    Bug = 70,
    /// Stopped by Ctrl-C; the rows so far are kept.
    Interrupted = 130,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit as u8)
    }
}

/// The table shown at the end of `odec --help`.
pub const HELP: &str = "\
Exit codes:
    0  success, also when the reader of a pipe has had enough
    1  the model is wrong
    2  the command line is wrong
    3  the run failed; the rows so far are kept
    4  an `expect` or `conserve` is not met
    5  a file cannot be read or written
   70  a bug in odec
  130  stopped by Ctrl-C; the rows so far are kept";
