//! Several starting points. The first one comes from the model. The others are drawn from the ranges and depend only
//! on their number, so any thread on any machine can compute any of them.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use odec_lang::diagnostic::{Diagnostic, codes};

use super::descent::{Descent, Halted, descend};
use super::{Fit, FittedQuantity};
use crate::Error;
use crate::points::{Design, Points, ValueRange};

/// Largest number of starts of a fit.
pub const MAX_STARTS: u64 = 1_000_000;

/// The result of one start.
#[derive(Debug)]
pub struct Attempt {
    /// Its number.
    pub start: u64,
    /// The descent, or the reason why there is no run at the start.
    pub end: Result<Descent, Box<Error>>,
}

impl Attempt {
    /// The final sum of squares.
    pub fn squares(&self) -> Option<f64> {
        self.end.as_ref().ok().map(|descent| descent.evaluation.squares())
    }
}

impl Fit {
    /// The starting points, as inner values.
    ///
    /// # Errors
    /// E0855: a parameter without a range, from which no start can be drawn.
    pub fn points(&self, starts: u64, seed: u64) -> Result<StartingPoints, Error> {
        let wrong = |headline: String, help: String| Error::from(Diagnostic::error(&codes::E0855, headline).help(help));
        if starts == 0 || starts > MAX_STARTS {
            return Err(wrong(
                format!("a fit cannot have {starts} starts; the limits are 1 and {MAX_STARTS}"),
                "for example 20".into(),
            ));
        }
        let open = |q: &&FittedQuantity| !(q.high - q.low).is_finite();
        if starts > 1
            && let Some(q) = self.quantities().iter().find(open)
        {
            let headline = format!("odec draws starting points from ranges, but `{}` has no range", q.name);
            return Err(wrong(headline, format!("give it a range: `{0}=0.1:10` or `{0}=0.1:10:log`", q.name)));
        }
        let range = |q: &FittedQuantity| ValueRange {
            name: q.name.clone(),
            low: q.low,
            high: q.high,
            count: 1,
            spacing: q.spacing,
        };
        let ranges = self.quantities().iter().map(range).collect();
        let points = Points::new(ranges, Design::Random { runs: starts - 1, seed });
        let points = points.ok_or_else(|| wrong(format!("{starts} starts are too many"), "use fewer starts".into()))?;
        let first = self.first();
        Ok(StartingPoints { first, points, quantities: self.quantities().to_vec() })
    }

    /// Computes the descent from one start.
    ///
    /// # Errors
    /// The caller stops the fit.
    pub fn attempt(
        &self,
        drawn: &StartingPoints,
        start: u64,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Attempt, Halted> {
        let point = drawn.point(start);
        if let Err(why) = self.evaluate(&point, stop)? {
            return Ok(Attempt { start, end: Err(why) });
        }
        let found = descend(&mut (self, stop), &point, &self.bounds(), &self.sizes(&point), self.rank())?;
        let lost = || Box::new(Error::from(Diagnostic::error(&codes::E0855, "the start has no values")));
        Ok(Attempt { start, end: found.ok_or_else(lost) })
    }

    /// Computes the descents from these starts on `threads` threads. The results are in the order of the starts.
    ///
    /// # Errors
    /// The caller stops the fit.
    pub fn attempts(
        &self,
        drawn: &StartingPoints,
        starts: std::ops::Range<u64>,
        threads: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Vec<Attempt>, Halted> {
        let count = (starts.end - starts.start) as usize;
        let threads = threads.clamp(1, count.max(1));
        let (next, found) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(count)));
        let work = || -> Result<(), Halted> {
            loop {
                let k = next.fetch_add(1, Ordering::Relaxed);
                if k >= count {
                    return Ok(());
                }
                let attempt = self.attempt(drawn, starts.start + k as u64, stop)?;
                found.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(attempt);
            }
        };
        std::thread::scope(|scope| {
            let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
            let mut result = work();
            for other in others {
                match other.join() {
                    Ok(end) => result = result.and(end),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            result
        })?;
        let mut found = found.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
        found.sort_by_key(|attempt| attempt.start);
        Ok(found)
    }
}

/// The starting points.
pub struct StartingPoints {
    first: Vec<f64>,
    points: Points,
    quantities: Vec<FittedQuantity>,
}

impl StartingPoints {
    /// Start number `k`, as inner values.
    fn point(&self, k: u64) -> Vec<f64> {
        let Some(k) = k.checked_sub(1) else { return self.first.clone() };
        let mut values = vec![0.0; self.quantities.len()];
        self.points.fill(k, &mut values);
        self.quantities.iter().zip(values).map(|(q, x)| q.inner(x)).collect()
    }
}
