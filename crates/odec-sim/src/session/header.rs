//! Units in the header lines of files: the unit of a column, and its conversion factor to the unit of the model.

use odec_ir::Span;
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::units::Mode;

/// A column of a file, and the quantity that receives its numbers.
pub(crate) struct Column<'a> {
    /// The name of the file in messages.
    pub file: &'a str,
    /// The column without its unit.
    pub name: &'a str,
    /// Its unit.
    pub unit: Option<&'a str>,
    /// The quantity in the model that receives the numbers.
    pub taker: &'a str,
    /// The unit of this quantity as written in the model.
    pub declared: Option<&'a str>,
    /// Where the model names the file.
    pub place: Span,
}

/// Splits `flow [m^3/s]` into name and unit.
pub(crate) fn parted(field: &str) -> (String, Option<String>) {
    match field.split_once('[') {
        Some((name, rest)) if rest.trim_end().ends_with(']') => {
            (name.trim().to_string(), Some(rest.trim_end().trim_end_matches(']').trim().to_string()))
        }
        _ => (field.to_string(), None),
    }
}

impl Column<'_> {
    /// The factor that converts the numbers of the column to the unit of the quantity. If the model does not check units, a
    /// warning says that the unit of the column has no effect.
    ///
    /// # Errors
    /// Headline and help, if no such factor exists.
    pub fn factor(&self, model: &Model, warnings: &mut Vec<Diagnostic>) -> Result<f64, (String, String)> {
        let Some(unit) = self.unit else { return Ok(1.0) };
        let (units, time) = (&model.units, &model.time.name);
        let unit = if matches!(unit, "" | "-") { "1" } else { unit };
        let (file, column, taker) = (self.file, self.name, self.taker);
        let apart =
            |here: &str| format!("`{file}`: `{column}` is in [{unit}], but `{taker}` is in [{here}] in the model");
        if units.used && units.mode != Mode::Off {
            let here = units.text_of(taker, time).unwrap_or_else(|| "1".to_owned());
            if units.unit_of(taker, time).is_none() {
                let headline = format!("`{file}`: `{column}` is in [{unit}], but `{taker}` has no unit in the model");
                return Err((headline, format!("declare the unit of `{taker}` in the model")));
            }
            return units.number_in(1.0, unit, taker, time).map_err(|why| {
                if why.code == &codes::E0570 {
                    let help = format!("no factor converts one to the other: write the column in [{here}]");
                    return (apart(&here), help);
                }
                let headline = format!("`{file}`, the unit of `{column}`: {}", why.headline);
                (headline, why.help.unwrap_or_default())
            });
        }
        match self.declared {
            Some(here) if !units.are_equal(unit, here) => {
                Err((apart(here), "the model says `units off`, so odec does not convert units".to_owned()))
            }
            Some(_) => Ok(1.0),
            None => {
                let headline = format!("`{file}`: `{column}` is in [{unit}], but `{taker}` has no unit in the model");
                let report = Diagnostic::warning(&codes::W0518, headline).label(self.place, "read here");
                warnings.push(report.help(format!(
                    "odec does not convert the numbers; give `{taker}` its unit in the model, and odec converts them"
                )));
                Ok(1.0)
            }
        }
    }
}
