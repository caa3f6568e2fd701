//! The output of `odec fit`: a table for users, JSON for tools, residuals as rows and as a picture.

use std::path::Path;

use odec_lang::diagnostic::Diagnostic;
use odec_sim::Error;
use odec_sim::blame::number;
use odec_sim::fit::problem::Compared;
use odec_sim::fit::{CheckedData, Ended, Estimate, Fit};

use super::Best;
use crate::args;
use crate::commands::plot::label;
use crate::commands::table;
use crate::exit::Exit;
use crate::figure;
use crate::picture::{Diagram, Ink, Key, Mark, Range, Shape, encode};
use crate::report::{Reporter, say};
use crate::rows::shortest;
use crate::summary::counted;
use crate::whole::write_file;

/// The report lists correlations of at least this size.
const STRONG: f64 = 0.95;
/// Sums of squares within this relative distance count as equal.
const NEAR: f64 = 1e-4;
/// Size of the picture.
const SIZE: (u32, u32) = (1100, 750);
/// Largest number of entries in its legend.
const LEGEND: usize = 12;

/// A fit and its results.
pub struct FitReport<'a> {
    fit: &'a Fit,
    best: &'a Best,
    sets: Vec<&'a CheckedData>,
    values: Vec<f64>,
    /// Ends of the intervals.
    intervals: Vec<(f64, f64)>,
    errors: Vec<f64>,
    squares: f64,
    estimate: Estimate,
    level: f64,
    time: String,
    compared: Vec<Compared>,
    pub warnings: Vec<Diagnostic>,
}

impl<'a> FitReport<'a> {
    /// Evaluates the best point.
    pub fn of(fit: &'a Fit, best: &'a Best, level: f64) -> Result<FitReport<'a>, Error> {
        let found = fit.found(&best.point, level)?;
        let (compared, mut warnings) = fit.compared(&best.point)?;
        warnings.extend(fit.warnings(&best.point, best.ended, &found));
        let time = fit.simulation(0).map(|s| s.model().time.name.clone()).unwrap_or_default();
        Ok(FitReport {
            sets: fit.sets().collect(),
            values: found.values,
            intervals: found.intervals,
            errors: found.errors,
            squares: found.squares,
            estimate: found.estimate,
            fit,
            best,
            level,
            time,
            compared,
            warnings,
        })
    }

    fn name(&self, j: usize) -> &str {
        &self.fit.quantities()[j].name
    }

    /// The name of a fitted quantity, with its unit.
    fn measured(&self, j: usize) -> String {
        let unit = self.fit.simulation(0).and_then(|simulation| label::unit_of_given(simulation, self.name(j)));
        label::with_unit(self.name(j), unit)
    }

    /// The unit of time or of a measured quantity; `None` if there is none.
    fn unit_of(&self, name: &str) -> Option<String> {
        let model = self.fit.simulation(0)?.model();
        model.units.text_of(name, &model.time.name)
    }

    /// The label of the residuals: with their unit if all data have the same one.
    fn residual_label(&self) -> String {
        if self.fit.known() {
            return "residual divided by its standard deviation".into();
        }
        let mut units = self.sets.iter().flat_map(|set| &set.names).map(|name| self.unit_of(name));
        let first = units.next().flatten();
        let alike = units.all(|unit| unit == first);
        label::with_unit("residual", first.filter(|_| alike))
    }

    /// The report for users.
    pub fn text(&self, args: &args::fit::FitArgs) -> String {
        let n = self.values.len();
        let counts = [
            counted(n, "parameter", "parameters").unwrap_or_default(),
            counted(self.compared.len(), "datum", "data").unwrap_or_default(),
            counted(self.best.evaluations as usize, "evaluation", "evaluations").unwrap_or_default(),
        ];
        let mut out = format!("{} fitted to {}, {}\n\n", counts[0], counts[1], counts[2]);
        let percent = format!("{}% interval", shortest(100.0 * self.level));
        let mut rows = vec![vec![String::new(), "value".into(), "std. error".into(), percent]];
        for j in 0..n {
            let (low, high) = self.intervals[j];
            let error = self.errors[j];
            let open = |x: f64| if x.is_nan() { "-".to_string() } else { number(x) };
            let error = if error.is_infinite() { "undetermined".into() } else { open(error) };
            let interval =
                if (high - low).is_finite() { format!("{} .. {}", number(low), number(high)) } else { "-".into() };
            rows.push(vec![self.measured(j), seven(self.values[j]), error, interval]);
        }
        out.push_str(&table(&rows, &[true]));
        out.push_str(&format!("\nsum of squares      {}\n", seven(self.squares)));
        let freedom = self.estimate.freedom;
        if freedom > 0 {
            let word = if self.fit.known() { "reduced chi-square " } else { "residual deviation " };
            let per = self.squares / freedom as f64;
            let per = if self.fit.known() { per } else { per.sqrt() };
            let degrees = if freedom == 1 { "degree" } else { "degrees" };
            out.push_str(&format!("{word} {}, {freedom} {degrees} of freedom\n", seven(per)));
        } else if !self.fit.known() {
            out.push_str("no standard errors  there are as many parameters as data\n");
        }
        out.push_str(&self.starts());
        for line in self.strong() {
            out.push_str(&line);
        }
        let fitted: Vec<(&str, String)> = (0..n).map(|j| (self.name(j), shortest(self.values[j]))).collect();
        out.push_str(&format!("\n{}\n", super::command::to_run(args, &fitted)));
        out
    }

    /// Number of starts that reached this minimum.
    fn starts(&self) -> String {
        let all = &self.best.squares;
        if all.len() < 2 {
            return String::new();
        }
        let near = |s: &&f64| **s <= self.squares * (1.0 + NEAR) + f64::MIN_POSITIVE;
        let here = all.iter().flatten().filter(near).count();
        let lost = all.iter().filter(|s| s.is_none()).count();
        let lost = if lost > 0 { format!(", {lost} failed") } else { String::new() };
        format!("starts              {here} of {} reached this sum of squares{lost}\n", all.len())
    }

    /// Strongly correlated pairs, which the data hardly distinguish.
    fn strong(&self) -> Vec<String> {
        let c = &self.estimate.covariance;
        let mut lines = Vec::new();
        for i in 0..self.values.len() {
            for j in 0..i {
                let r = c[(i, j)] / (c[(i, i)] * c[(j, j)]).sqrt();
                if r.abs() >= STRONG {
                    lines.push(format!("correlation         {} and {} {r:.4}\n", self.name(j), self.name(i)));
                }
            }
        }
        lines
    }

    /// The report for tools.
    pub fn json(&self) -> String {
        let n = self.values.len();
        let finite = |x: f64| x.is_finite().then_some(x);
        let c = &self.estimate.covariance;
        let parameters: Vec<_> = (0..n)
            .map(|j| {
                let (low, high) = self.intervals[j];
                serde_json::json!({
                    "name": self.name(j),
                    "value": self.values[j],
                    "standard_error": finite(self.errors[j]),
                    "interval": [finite(low), finite(high)],
                    "logarithmic": self.fit.quantities()[j].spacing == odec_sim::points::Spacing::Logarithmic,
                })
            })
            .collect();
        let covariance: Vec<Vec<Option<f64>>> =
            (0..n).map(|i| (0..n).map(|j| finite(c[(i, j)] * self.chain(i) * self.chain(j))).collect()).collect();
        let combination = |list: &Vec<(usize, f64)>| -> serde_json::Map<String, serde_json::Value> {
            list.iter().map(|(j, part)| (self.name(*j).to_string(), (*part).into())).collect()
        };
        let undetermined: Vec<_> = self.estimate.undetermined.iter().map(combination).collect();
        let value = serde_json::json!({
            "parameters": parameters,
            "level": self.level,
            "covariance": covariance,
            "undetermined": undetermined,
            "singular_values": self.estimate.singular,
            "sum_of_squares": self.squares,
            "data": self.compared.len(),
            "degrees_of_freedom": self.estimate.freedom,
            "deviations_known": self.fit.known(),
            "converged": self.best.ended == Ended::Minimum,
            "evaluations": self.best.evaluations,
            "starts": self.best.squares,
        });
        format!("{value:#}\n")
    }

    /// For a parameter whose logarithm was fitted, its value; otherwise 1.
    fn chain(&self, j: usize) -> f64 {
        let logarithmic = self.fit.quantities()[j].spacing == odec_sim::points::Spacing::Logarithmic;
        if logarithmic { self.values[j] } else { 1.0 }
    }

    /// Data, model values and residuals as a table.
    pub fn table(&self) -> String {
        let quoted = |text: &str| {
            if text.contains([',', '"']) { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_string() }
        };
        let mut out = format!("set,quantity,{},data,model,residual\n", quoted(&self.time));
        for c in &self.compared {
            let set = self.sets[c.set];
            let (shown, name) = (quoted(&set.shown), quoted(&set.names[c.column]));
            let numbers = [c.t, c.measured, c.model, c.residual].map(shortest).join(",");
            out.push_str(&format!("{shown},{name},{numbers}\n"));
        }
        out
    }

    /// The residuals against time.
    pub fn draw(&self, path: &Path, reporter: Reporter) -> Result<Exit, Error> {
        let bytes = encode(&self.diagram(), figure::format(path)?).map_err(|e| figure::bad_size(&e))?;
        write_file(path, &bytes)?;
        if !reporter.quiet() && reporter.human() {
            say(&format!("wrote {}\n", path.display()));
        }
        Ok(Exit::Success)
    }

    fn diagram(&self) -> Diagram {
        let ends = |pick: fn(&Compared) -> f64| {
            let all = || self.compared.iter().map(pick);
            (all().fold(f64::INFINITY, f64::min), all().fold(f64::NEG_INFINITY, f64::max))
        };
        let ((first, last), (low, high)) = (ends(|c| c.t), ends(|c| c.residual));
        let side = match 1.1 * low.abs().max(high.abs()) {
            side if side > 0.0 => side,
            _ => 1.0,
        };
        let margin = 0.03 * (last - first);
        let x = Range { low: first - margin, high: last + margin, log: false };
        let (mut shapes, mut legend) = (vec![Shape::Line(vec![(x.low, 0.0), (x.high, 0.0)], Ink::Faint, 1.5)], vec![]);
        let mut series = 0;
        for (k, set) in self.sets.iter().enumerate() {
            for (column, name) in set.names.iter().enumerate() {
                let own = self.compared.iter().filter(|c| c.set == k && c.column == column);
                let points: Vec<(f64, f64)> = own.map(|c| (c.t, c.residual)).collect();
                let (ink, mark) =
                    (Ink::Series(series), [Mark::Disk, Mark::Ring, Mark::Cross, Mark::Dot][series / 6 % 4]);
                series += 1;
                shapes.push(Shape::Marks(points, ink, mark));
                let label = if self.sets.len() == 1 { name.clone() } else { format!("{name}, {}", set.shown) };
                legend.push((label, Key::Mark(ink, mark)));
            }
        }
        legend.truncate(LEGEND);
        Diagram {
            title: "Residuals: model minus data".into(),
            x_label: label::with_unit(&self.time, self.unit_of(&self.time)),
            y_label: self.residual_label(),
            x,
            y: Range { low: -side, high: side, log: false },
            equal: false,
            shapes,
            legend,
            size: SIZE,
        }
    }
}

/// A number with seven digits.
fn seven(v: f64) -> String {
    shortest(format!("{v:.6e}").parse().unwrap_or(v))
}
