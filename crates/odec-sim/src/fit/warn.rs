//! Warnings about a fit.

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::suggest;

use super::descent::{Ended, MAX_EVALUATIONS};
use super::problem::FitPoint;
use super::{Fit, number};

/// A sum of squares above this multiple of the sum about the mean gives a warning.
const WORSE: f64 = 1.1;

impl Fit {
    /// Warnings about the final point of a fit.
    pub fn warnings(&self, point: &[f64], ended: Ended, found: &FitPoint) -> Vec<Diagnostic> {
        let estimate = &found.estimate;
        let mut warnings = Vec::new();
        let name = |j: usize| self.quantities()[j].name.as_str();
        let unfinished = match ended {
            Ended::Minimum => None,
            Ended::Stuck => {
                Some("no step lowers the sum of squares, although its derivatives predict a decrease".to_string())
            }
            Ended::Evaluations => Some(format!("it did not reach a minimum within {MAX_EVALUATIONS} evaluations")),
        };
        if let Some(why) = &unfinished {
            let headline = format!("the fit did not converge: {why}");
            let help = "start from other values, bound the parameters, fit fewer of them, or solve more accurately: `--rtol 1e-10`";
            warnings.push(Diagnostic::warning(&codes::W0854, headline).help(help));
        }
        for combination in &estimate.undetermined {
            let names: Vec<&str> = combination.iter().map(|(j, _)| name(*j)).collect();
            let headline = match names[..] {
                [one] => format!("the data do not determine `{one}`: other values fit equally well"),
                _ => format!("the data do not determine {} separately", suggest::list(names.iter().copied())),
            };
            let parts: Vec<String> = combination.iter().map(|(j, part)| format!("{} {part:+.2}", name(*j))).collect();
            let help = format!(
                "relative changes in the direction ({}) do not change the fit: fix the value of one of these parameters, or use more data",
                parts.join(", ")
            );
            warnings.push(Diagnostic::warning(&codes::W0855, headline).help(help));
        }
        for (q, start) in self.starts() {
            let Some(own) = start.outside else { continue };
            let range = match (q.low.is_finite(), q.high.is_finite()) {
                (true, true) => format!("{} .. {}", number(q.low), number(q.high)),
                (true, false) => format!("from {} on", number(q.low)),
                _ => format!("up to {}", number(q.high)),
            };
            let headline = format!(
                "`{}` is {} in the model, outside the range of the fit ({range}): the fit starts at {}",
                q.name,
                number(own),
                number(start.value)
            );
            let help = "widen the range, or choose another start in it";
            warnings.push(Diagnostic::warning(&codes::W0857, headline).help(help));
        }
        let values = self.values(point);
        for (j, upper) in &estimate.bounded {
            let end = if *upper { "upper" } else { "lower" };
            let headline = format!("`{}` ended at the {end} end of its range, {}", name(*j), number(values[*j]));
            let help = "it has no standard error, and the errors of the others apply to this value only: widen the range if it is not a physical limit";
            warnings.push(Diagnostic::warning(&codes::W0856, headline).help(help));
        }
        warnings.extend(self.shifted(point, found));
        // a fit that did not converge, or ended on a bound, has its warning
        if unfinished.is_none() && estimate.bounded.is_empty() {
            warnings.extend(self.poor(found));
        }
        warnings
    }

    /// The warning about a model that describes the data worse than their means do.
    fn poor(&self, found: &FitPoint) -> Option<Diagnostic> {
        let mut total = 0.0;
        for set in self.sets() {
            for column in 0..set.names.len() {
                let data = || set.data.iter().filter(|datum| datum.column == column);
                let weights: f64 = data().map(|datum| datum.weight.powi(2)).sum();
                let mean = data().map(|datum| datum.weight.powi(2) * datum.value).sum::<f64>() / weights;
                total += data().map(|datum| (datum.weight * (datum.value - mean)).powi(2)).sum::<f64>();
            }
        }
        if found.estimate.freedom < 1 || !(found.squares > WORSE * total) {
            return None;
        }
        let headline = format!(
            "the model describes the data worse than their mean does: the sum of squares is {}, and {} about the mean",
            number(found.squares),
            number(total)
        );
        let help = "this is probably a local minimum: `--starts 20` fits from 20 starts, or start from other values; \
                    or check the model, and the units of the data";
        Some(Diagnostic::warning(&codes::W0859, headline).help(help))
    }
}
