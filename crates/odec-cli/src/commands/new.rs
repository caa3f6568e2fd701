//! `odec new`: writes a small example model. Never overwrites a file.

use std::io::Write;

use odec_lang::diagnostic::codes;
use odec_sim::Error;

use crate::args::New;
use crate::exit::Exit;
use crate::input::error;
use crate::report::{Reporter, say};
use crate::rows::cannot_write;
use crate::whole::not_written;

/// The model. `NAME` stands for its name.
const TEMPLATE: &str = "\
## A damped oscillator, to start from.
model NAME

param k = 1       ## stiffness
param c = 0.1     ## damping

state x = 1, x' = 0

x'' = -k*x - c*x'

output energy = k*x^2/2 + x'^2/2

run {
  t       = 0 .. 30
  rtol    = 1e-6
  atol    = 1e-9
  samples = 300
}

expect x(30) = X30 within 1e-4
";

/// x(30) of the template: exp(-c t/2) (cos w t + c/(2 w) sin w t) with w^2 = k - c^2/4.
fn x30() -> f64 {
    let (k, c, t) = (1.0f64, 0.1f64, 30.0f64);
    let w = (k - c * c / 4.0).sqrt();
    (-c * t / 2.0).exp() * ((w * t).cos() + c / (2.0 * w) * (w * t).sin())
}

/// Writes the file.
pub fn new(args: &New, reporter: Reporter) -> Result<Exit, Error> {
    let mut path = args.file.clone();
    if path.extension().is_none() {
        path.set_extension("ode");
    }
    let stem = path.file_stem().and_then(|s| s.to_str()).unwrap_or("model");
    let mut name: String = stem.chars().map(|c| if c.is_alphanumeric() { c } else { '_' }).collect();
    if !name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_') {
        name.insert_str(0, "model_");
    }
    let text = TEMPLATE.replace("NAME", &name).replace("X30", &format!("{:.6}", x30()));
    let file = std::fs::File::options().write(true).create_new(true).open(&path);
    match file {
        Ok(mut file) => file.write_all(text.as_bytes()).map_err(|e| {
            // half a model is none
            let _ = std::fs::remove_file(&path);
            not_written(&path, &e)
        })?,
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => {
            let headline = format!("`{}` exists; `odec new` does not overwrite files", path.display());
            return Err(error(&codes::E0708, headline, Some("choose another name".to_string())).into());
        }
        Err(e) => return Err(cannot_write(&path, &e).into()),
    }
    if !reporter.quiet() {
        let plain = path.display().to_string();
        // a shell would split the name
        let p = if plain.contains(char::is_whitespace) { format!("'{plain}'") } else { plain };
        say(&format!("wrote {p}; next: odec run {p}, odec plot {p}, odec test {p}\n"));
    }
    Ok(Exit::Success)
}
