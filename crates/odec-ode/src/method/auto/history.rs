//! The record of a run with `auto`: the methods in their order, and the reasons for the switches.

use std::fmt::Write;

/// Number of legs that are listed individually.
pub const KEPT: usize = 3;

/// The reason for a choice of method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChoiceReason {
    /// The problem was not stiff at the start.
    NotStiff,
    /// The problem was stiff at the start.
    StiffAtStart,
    /// Some equations have no derivative, or the mass matrix is singular.
    Algebraic,
    /// The explicit method came to the limit of its stability.
    Stiff,
    /// The steps of the explicit method failed.
    Failing,
    /// The explicit method could take the current steps.
    NoLongerStiff,
}

/// A segment with one method.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Leg {
    /// Start time.
    pub t: f64,
    /// Name of the method.
    pub method: &'static str,
    /// The reason for its choice.
    pub why: ChoiceReason,
}

/// The methods of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodHistory {
    /// The first legs.
    pub legs: Vec<Leg>,
    /// Number of switches of method, including those after the listed legs.
    pub switches: u64,
    /// Accepted steps with the explicit and with the implicit method.
    pub steps: [u64; 2],
    /// The explicit method that another explicit method replaced, and its share of the steps.
    pub replaced: Option<(&'static str, u64)>,
    /// Names of the explicit and the implicit method.
    pub methods: [Option<&'static str>; 2],
}

impl MethodHistory {
    /// One line for users: the choices and their reasons. `time` is the name of the independent variable.
    pub fn line(&self, time: &str) -> String {
        let Some(first) = self.legs.first() else { return String::new() };
        if self.switches == 0 {
            let why = match first.why {
                ChoiceReason::Algebraic => "not every equation determines a derivative",
                ChoiceReason::StiffAtStart => "stiff from the start",
                _ => "the problem is not stiff",
            };
            return format!("{} throughout: {why}", first.method);
        }
        let mut text = first.method.to_string();
        for (k, leg) in self.legs.iter().enumerate().skip(1) {
            let what = match leg.why {
                ChoiceReason::NoLongerStiff => "no longer stiff",
                ChoiceReason::Failing => "no finite values",
                ChoiceReason::Algebraic => "the mass matrix is singular",
                _ => "stiff",
            };
            let then = if k as u64 == self.switches { "then " } else { "" };
            let _ = write!(text, " until {time} = {} ({what}), {then}{}", three_digits(leg.t), leg.method);
        }
        if self.switches >= self.legs.len() as u64 {
            let [explicit, implicit] = self.methods.map(Option::unwrap_or_default);
            let [of_explicit, of_implicit] = self.steps;
            let _ = write!(text, ", and so on: {} switches, ", self.switches);
            if let Some((name, steps)) = self.replaced {
                let rest = of_explicit - steps;
                let _ = write!(text, "{steps} steps of {name}, {rest} of {explicit}, {of_implicit} of {implicit}");
            } else {
                let _ = write!(text, "{of_explicit} steps of {explicit}, {of_implicit} of {implicit}");
            }
        } else {
            let plural = if self.switches == 1 { "switch" } else { "switches" };
            let _ = write!(text, "; {} {plural}", self.switches);
        }
        text
    }
}

/// A number with three significant digits, in its shortest form.
fn three_digits(v: f64) -> String {
    let rounded: f64 = format!("{v:.2e}").parse().unwrap_or(v);
    if rounded == 0.0 || (1e-3..1e6).contains(&rounded.abs()) { rounded.to_string() } else { format!("{rounded:e}") }
}
