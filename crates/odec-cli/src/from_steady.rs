//! The lines of a summary about a run that starts from a steady state.

use serde::Serialize;

use crate::summary::{Started, moves};

/// The steady state that a run starts from.
#[derive(Clone, Debug, Serialize)]
pub struct FromSteady {
    /// Its type.
    pub kind: &'static str,
    /// True if the solution from the initial values comes to rest there.
    pub reached: bool,
    /// The states whose values change: name, initial value, value.
    pub moved: Vec<Started>,
}

impl FromSteady {
    /// `stable node: x from 1 to 2 and 3 more`
    pub fn line(&self) -> String {
        if self.moved.is_empty() { self.kind.to_owned() } else { format!("{}: {}", self.kind, moves(&self.moved)) }
    }
}
