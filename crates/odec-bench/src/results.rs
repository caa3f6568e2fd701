//! Results of one run of the command.

use crate::curve::{Curve, best};
use crate::group::Row;
use crate::peer;
use crate::problem::Problem;

/// A problem and its curves.
pub struct Measured {
    /// Solved problem.
    pub problem: Problem,
    /// Curves of all peers.
    pub curves: Vec<Curve>,
}

/// Everything.
#[derive(Default)]
pub struct Results {
    /// Names and versions of the peers that took part.
    pub present: Vec<(&'static str, String)>,
    /// Peers that did not: name and reason.
    pub absent: Vec<(&'static str, String)>,
    /// Work-precision curves.
    pub measured: Vec<Measured>,
    /// Compile times.
    pub compile: Vec<Row>,
    /// Times of single calls.
    pub kernels: Vec<Row>,
    /// Start of the whole process.
    pub start: Vec<Row>,
    /// Ensembles.
    pub ensembles: Vec<Row>,
    /// Targets of the plan, one row each: target, problem, required value, measured value, and whether it was reached.
    pub targets: Vec<Target>,
}

/// Comparison with one target of the plan.
#[derive(Clone, Debug)]
pub struct Target {
    /// Its number in the plan.
    pub number: u32,
    /// Compared quantity.
    pub what: String,
    /// Place of the comparison.
    pub place: String,
    /// The bound, in words.
    pub wanted: String,
    /// Measured value in words.
    pub found: String,
    /// True if the target was reached; `None` if it was not measured.
    pub reached: Option<bool>,
}

impl Measured {
    /// Curves of a peer.
    pub fn of<'a>(&'a self, peer: &'a str) -> impl Iterator<Item = &'a Curve> + 'a {
        self.curves.iter().filter(move |c| c.peer == peer)
    }

    /// The curve of odec's default.
    pub fn own(&self) -> Option<&Curve> {
        self.of(peer::odec::NAME).find(|c| c.method == "auto")
    }

    /// Milliseconds of odec's default to an error.
    pub fn own_time(&self, error: f64) -> Option<f64> {
        self.own()?.time(error)
    }

    /// Best time of a peer to an error.
    pub fn best(&self, peer: &str, error: f64) -> Option<f64> {
        best(self.of(peer), error).map(|b| b.0)
    }

    /// Best time of a peer over odec's default.
    pub fn ratio(&self, peer: &str, error: f64) -> Option<f64> {
        Some(self.best(peer, error)? / self.own_time(error)?)
    }

    /// Time of the curve whose method contains these words, over odec's default.
    pub fn ratio_of(&self, peer: &str, method: &str, error: f64) -> Option<f64> {
        let curve = self.of(peer).find(|c| c.method.contains(method))?;
        Some(curve.time(error)? / self.own_time(error)?)
    }
}
