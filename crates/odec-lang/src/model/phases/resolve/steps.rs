//! Runs whose steps the user chooses.

use crate::syntax::tree::{Entry, WrittenValue};

/// Methods without error control, which users choose together with a step.
const CONSTANT: [&str; 17] = [
    "euler",
    "forward-euler",
    "explicit-euler",
    "rk1",
    "midpoint",
    "explicit-midpoint",
    "rk2",
    "heun",
    "heun2",
    "explicit-trapezoidal",
    "improved-euler",
    "ralston",
    "ralston2",
    "rk4",
    "runge-kutta",
    "runge-kutta-4",
    "classical",
];

/// True if a run block names one of these methods.
pub(super) fn are_constant(entries: &[Entry]) -> bool {
    entries.iter().any(|entry| match &entry.value {
        WrittenValue::Word(word) => entry.key.name == "method" && CONSTANT.contains(&word.name.as_str()),
        _ => false,
    })
}
