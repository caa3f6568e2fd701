//! Internal errors: states that cannot occur if odec is correct.

/// Panics, because the computation could only continue with a wrong number; `what` names the violated invariant.
///
/// The command turns the panic into the message E0900, which asks for a report, and exit code 70.
#[cold]
#[track_caller]
pub fn broken(what: &str) -> ! {
    panic!("{what}")
}
