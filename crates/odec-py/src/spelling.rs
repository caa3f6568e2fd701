//! Messages name options as the command has them; here these become the arguments that Python has.

use odec_lang::diagnostic::Diagnostic;

/// Options of the command, and arguments of `run`, `sweep` and `fit`.
const ARGUMENTS: [(&str, &str); 15] = [
    ("--t-end", "t"),
    ("--run", "run"),
    ("--params", "params"),
    ("--method", "method"),
    ("--step", "step"),
    ("--rtol", "rtol"),
    ("--atol", "atol"),
    ("--samples", "samples"),
    ("--record", "record"),
    ("--max-step", "max_step"),
    ("--max-steps", "max_steps"),
    ("--linear", "linear"),
    ("--sens", "sens"),
    ("--sigma", "sigma"),
    ("--set", "with_"),
];

/// Commands, and methods of a model.
const METHODS: [(&str, &str); 2] = [("odec run", "m.run"), ("odec sweep", "m.sweep")];

/// A diagnostic in whose texts options are arguments.
pub fn in_python(d: &Diagnostic) -> Diagnostic {
    let mut d = d.clone();
    d.headline = text(&d.headline);
    d.help = d.help.as_deref().map(text);
    for label in &mut d.labels {
        label.text = text(&label.text);
    }
    d
}

/// A text with options in backquotes.
fn text(given: &str) -> String {
    if !given.contains("`--") && !given.contains("`odec ") && !given.contains(':') {
        return given.to_owned();
    }
    let pieces = given.split('`').enumerate();
    pieces.map(|(k, piece)| if k % 2 == 1 { quoted(piece) } else { piece.to_owned() }).collect::<Vec<_>>().join("`")
}

/// Spelling in Python of a text between backquotes; unchanged if it has no equivalent in Python.
fn quoted(piece: &str) -> String {
    if piece == "odec methods" {
        return "odec.methods()".to_owned();
    }
    if let Some(made) = range(piece) {
        return made;
    }
    if let Some((_, name)) = METHODS.iter().find(|(command, _)| *command == piece) {
        return (*name).to_owned();
    }
    let mut made: Vec<String> = Vec::new();
    let mut words = piece.strip_prefix("odec run ").unwrap_or(piece).split(' ').peekable();
    while let Some(word) = words.next() {
        let Some((_, name)) = ARGUMENTS.iter().find(|(option, _)| *option == word) else { return piece.to_owned() };
        let value = words.next_if(|next| !next.starts_with("--"));
        made.push(value.map_or((*name).to_owned(), |value| argument(name, value.trim_matches('\''))));
    }
    made.join(", ")
}

/// A range of a parameter to fit, `A=0.1:10` or `A=0.1:10:log`, as an entry of a mapping.
fn range(piece: &str) -> Option<String> {
    let (name, ends) = piece.split_once('=').filter(|(name, _)| !name.starts_with("--") && !name.contains(' '))?;
    let (ends, function) = ends.strip_suffix(":log").map_or((ends, "lin"), |ends| (ends, "geom"));
    let (low, high) = ends.split_once(':')?;
    let is_number = |end: &str| end.parse::<f64>().is_ok();
    (is_number(low) && is_number(high)).then(|| format!("\"{name}\": odec.{function}({low}, {high})"))
}

/// An argument with its value.
fn argument(name: &str, value: &str) -> String {
    let is_number = |value: &str| value.parse::<f64>().is_ok() || value == "...";
    let literal = |value: &str| if is_number(value) { value.to_owned() } else { format!("\"{value}\"") };
    match (name, value.split_once('=')) {
        ("with_", Some((of, value))) if of.chars().all(|c| c.is_alphanumeric() || c == '_') => {
            format!("with_({of}={value})")
        }
        ("with_", Some((of, value))) => format!("with_({{\"{of}\": {value}}})"),
        (_, Some((of, value))) => format!("{name}={{\"{of}\": {value}}}"),
        ("sens", None) => {
            let names: Vec<String> = value.split(',').map(|name| format!("\"{name}\"")).collect();
            format!("sens=[{}]", names.join(", "))
        }
        ("record", None) if !matches!(value, "all" | "states" | "outputs") => format!("record=[\"{value}\"]"),
        _ => format!("{name}={}", literal(value)),
    }
}
