//! The texts of a plot: its title and axis labels.

use odec_ir::names::plain;
use odec_lang::model::Model;
use odec_sim::Simulation;
use odec_sim::quantities::Quantity;

/// A title longer than this many characters ends at a colon or semicolon, if it has one.
const LONG: usize = 150;

/// The first sentence of the model's `##` comment, or its name. A `##` comment that begins the file counts as one, although
/// it documents the declaration below it.
pub fn title(model: &Model, source: &str) -> String {
    let doc = model.doc.clone().unwrap_or_else(|| first_comment(source));
    let text = doc.split_whitespace().collect::<Vec<_>>().join(" ");
    let sentence = sentence(&text);
    if sentence.is_empty() { model.name.clone() } else { sentence.to_string() }
}

/// The `##` lines that begin a text.
fn first_comment(source: &str) -> String {
    source.lines().map_while(|line| line.strip_prefix("##")).collect::<Vec<_>>().join(" ")
}

/// The first sentence, or the first clause of a long one, without the full stop.
fn sentence(text: &str) -> &str {
    let mut depth = 0i32;
    let mut clause = None;
    let mut before = ' ';
    let mut end = text.len();
    for (k, c) in text.char_indices() {
        let ends_word = text[k + c.len_utf8()..].chars().next().is_none_or(char::is_whitespace);
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth -= 1,
            // an initial or one-letter abbreviation does not end a sentence: `D. Baraff`
            '.' if depth <= 0 && ends_word && !is_initial(&text[..k], before) => {
                end = k;
                break;
            }
            ':' | ';' if depth <= 0 && ends_word && clause.is_none() => clause = Some(k),
            _ => {}
        }
        before = c;
    }
    match clause {
        Some(clause) if text[..end].chars().count() > LONG => &text[..clause],
        _ => &text[..end],
    }
}

/// True if the text before a dot ends in a single capital letter.
fn is_initial(text: &str, last: char) -> bool {
    last.is_uppercase() && text.chars().rev().nth(1).is_none_or(|c| !c.is_alphanumeric())
}

/// The unit of a column, as written in the model; a rate of change has the unit of its state divided by that of time.
pub fn unit(simulation: &Simulation, column: usize) -> Option<String> {
    let time = &simulation.model().time.unit;
    let Some((quantity, _)) = simulation.bound().columns.quantity(column) else { return time.clone() };
    if quantity.unit.is_some() || primes(quantity) == 0 {
        return quantity.unit.clone();
    }
    let base = quantity.name.replace('\'', "");
    let states = simulation.bound().states.list();
    let unit = states.iter().find(|s| s.name == base).and_then(|s| s.unit.as_ref())?;
    match (primes(quantity), unit.contains(['/', ' ', '*', '·']), time) {
        (1, false, Some(time)) => Some(format!("{unit}/{time}")),
        _ => None,
    }
}

/// The unit of a column for the header line: as written in the model, or as derived from the equations and units of other
/// quantities than time. A pure number has none.
pub fn unit_in_header(simulation: &Simulation, column: usize) -> Option<String> {
    let model = simulation.model();
    let name = simulation.bound().columns.name(column);
    let derivative = name.starts_with("d(");
    let written = unit(simulation, column).filter(|_| !derivative);
    let follows = || column == 0 || !model.units.only_of_time();
    written.or_else(|| model.units.text_of(&name, &model.time.name).filter(|_| follows()))
}

/// The unit of a parameter or initial value, by name.
pub fn unit_of_given(simulation: &Simulation, name: &str) -> Option<String> {
    let model = simulation.model();
    let written = model.parameters.iter().find(|p| p.name == name).and_then(|p| p.unit.clone());
    written.or_else(|| model.units.text_of(name, &model.time.name))
}

/// Number of primes in the name.
pub fn primes(quantity: &Quantity) -> usize {
    quantity.name.matches('\'').count()
}

/// A name with its unit, if it has one.
pub fn with_unit(name: &str, unit: Option<String>) -> String {
    match (name.is_empty(), unit) {
        (false, Some(unit)) => format!("{name} [{unit}]"),
        (true, Some(unit)) => format!("[{unit}]"),
        (_, None) => name.to_string(),
    }
}

/// The label of an axis with these columns: the name of the only column or of their array, or a few names; at least
/// the unit.
pub fn axis(simulation: &Simulation, columns: &[usize], few: usize) -> String {
    let all = &simulation.bound().columns;
    let Some(&first) = columns.first() else { return String::new() };
    let unit_of = |c: usize| unit_in_header(simulation, c);
    let unit = unit_of(first).filter(|unit| columns.iter().all(|&c| unit_of(c).as_ref() == Some(unit)));
    let mut names: Vec<String> = columns.iter().map(|&c| all.name(c)).collect();
    names.dedup();
    if let [only] = names.as_slice() {
        return with_unit(only, unit);
    }
    let of = |c: usize| all.quantity(c).map_or(String::new(), |(quantity, _)| plain(&quantity.name));
    if columns.iter().all(|&c| of(c) == of(first)) {
        return with_unit(&of(first), unit);
    }
    let name = if names.len() <= few { names.join(", ") } else { String::new() };
    with_unit(&name, unit)
}

#[cfg(test)]
mod tests {
    use super::{first_comment, sentence};

    #[test]
    fn a_comment_that_begins_the_file_is_a_title() {
        assert_eq!(first_comment("## A tank\n## with a hole.\nparam c = 0.5\n").trim(), "A tank  with a hole.");
        assert_eq!(first_comment("param c = 0.5\n## a state\nstate x = 1\n"), "");
    }

    #[test]
    fn a_title_is_the_first_sentence() {
        for (text, title) in [
            ("A pendulum. It swings.", "A pendulum"),
            ("A bead (after D. Baraff, \"Notes\"): it slides", "A bead (after D. Baraff, \"Notes\"): it slides"),
            ("Spots by J. Pearson, 1993. More", "Spots by J. Pearson, 1993"),
            ("Decay at 0.5 per hour", "Decay at 0.5 per hour"),
            ("", ""),
        ] {
            assert_eq!(sentence(text), title);
        }
        let long = format!("HEAT: {}", "word ".repeat(40));
        assert_eq!(sentence(&long), "HEAT");
    }
}
