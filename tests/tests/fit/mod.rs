//! `odec fit`: published problems, messages about data and parameters, parts of many starts.

mod asked;
mod published;

use std::path::Path;

use odec_tests::command::{Ran, run_in, scratch};
use serde_json::Value;

/// Name, value, standard error and interval.
type Parameter = (String, f64, Option<f64>, [Option<f64>; 2]);

/// Output of `--stats`.
#[derive(Debug)]
struct Fitted {
    parameters: Vec<Parameter>,
    squares: f64,
    converged: bool,
    json: Value,
    err: String,
    out: String,
}

impl Fitted {
    #[track_caller]
    fn parameter(&self, name: &str) -> &Parameter {
        self.parameters.iter().find(|p| p.0 == name).unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }

    #[track_caller]
    fn value(&self, name: &str) -> f64 {
        self.parameter(name).1
    }

    /// Its standard error.
    #[track_caller]
    fn error(&self, name: &str) -> f64 {
        self.parameter(name).2.unwrap_or_else(|| panic!("no error of {name} in {self:?}"))
    }

    fn of(json: &Path, ran: Ran) -> Fitted {
        let text = std::fs::read_to_string(json).expect("the result is written");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let number = |v: &Value| v.as_f64();
        let parameters = value["parameters"].as_array().expect("a list").iter();
        let parameters = parameters.map(|p| {
            let name = p["name"].as_str().expect("a name").to_owned();
            let value = number(&p["value"]).expect("a value");
            (name, value, number(&p["standard_error"]), [number(&p["interval"][0]), number(&p["interval"][1])])
        });
        Fitted {
            parameters: parameters.collect(),
            squares: number(&value["sum_of_squares"]).expect("a number"),
            converged: value["converged"] == true,
            out: ran.text(),
            err: ran.err,
            json: value,
        }
    }
}

/// Runs `odec fit m.ode` on these data files with these words, in a separate folder.
#[track_caller]
fn command(name: &str, model: &str, files: &[(&str, &str)], words: &[String]) -> (Ran, std::path::PathBuf) {
    let folder = scratch(&format!("fit-{name}"));
    std::fs::write(folder.join("m.ode"), model).expect("a writable folder");
    for (file, text) in files {
        std::fs::write(folder.join(file), text).expect("a writable folder");
    }
    let all: Vec<String> = ["fit", "m.ode"].map(String::from).into_iter().chain(words.iter().cloned()).collect();
    (run_in(&folder, &all, b"").orderly(), folder)
}

/// Makes a fit to all these files, which must succeed.
#[track_caller]
fn fit(name: &str, model: &str, files: &[(&str, &str)], words: &[String]) -> Fitted {
    let mut all: Vec<String> = files.iter().map(|(file, _)| (*file).to_owned()).collect();
    all.extend(words.iter().cloned());
    all.extend(["--stats".to_owned(), "fit.json".into()]);
    let (ran, folder) = command(name, model, files, &all);
    Fitted::of(&folder.join("fit.json"), ran.success())
}
