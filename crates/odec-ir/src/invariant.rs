//! Internal errors: states that are impossible if odec is correct.

/// Ends what is being done, because it could only go on with a wrong number: `what` says which invariant does not hold.
///
/// The command turns the panic into the message E0900, which asks for a report, and exit code 70.
#[cold]
#[track_caller]
pub fn broken(what: &str) -> ! {
    panic!("{what}")
}
