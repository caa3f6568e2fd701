//! `odec emit --to fmu`: a model as one file for other simulators. If a C compiler is available, it builds the library.

use std::path::Path;
use std::process::{Command, Stdio};

use odec_emit::{Fmu, FmuContext, FmuUnit};
use odec_ir::switch::Switching;
use odec_ir::{Array, Program, Role};
use odec_lang::diagnostic::{Diagnostic, codes};
use odec_lang::model::Model;
use odec_lang::units::table::DIMENSIONS;
use odec_lang::units::vector::{Atom, Vector};
use odec_sim::choices::Choices;
use odec_sim::experiment::Experiment;
use odec_sim::{Error, Loaded};

use super::emit::not_emitted;
use crate::input::error;
use crate::zip::{Entry, archive};

/// The C compiler.
const COMPILER: &str = "cc";

/// The archive, and a message about the library in it.
pub fn written(
    loaded: &Loaded,
    choices: &Choices,
    program: &Program,
    switching: Option<&Switching>,
    options: &odec_emit::Options,
) -> Result<(Vec<u8>, String), Error> {
    let model = loaded.model();
    let time = model.time.name.clone();
    let unit_of = |name: &str| model.units.text_of(name, &time);
    let Experiment { span, rtol, atol } = loaded.experiment(choices, program)?;
    let context = FmuContext { time: &time, units: units(model, program), unit_of: &unit_of, span, rtol, atol };
    let fmu = odec_emit::fmu(program, switching, options, &context).map_err(not_emitted)?;
    let text = |(path, text): &(String, String)| Entry {
        path: path.clone(),
        bytes: text.clone().into_bytes(),
        executable: false,
    };
    let mut entries: Vec<Entry> = fmu.files.iter().map(text).collect();
    let library_note = match library(&fmu) {
        Ok(library) => {
            let library_note = format!("with a library for {}", platform());
            entries.push(library);
            library_note
        }
        Err(why) => format!("with sources only: {why}"),
    };
    archive(&entries).map(|bytes| (bytes, library_note)).ok_or_else(|| too_large().into())
}

/// All units of a model's quantities, in the form of FMI.
fn units(model: &Model, program: &Program) -> Vec<FmuUnit> {
    let time = &model.time.name;
    let is_state = |array: &&Array| matches!(array.role, Role::Position | Role::Velocity | Role::FirstOrder);
    let rates = program.arrays.iter().filter(is_state).map(|array| format!("{}'", array.name));
    let names = program.arrays.iter().map(|array| array.name.clone()).chain(rates).chain([time.clone()]);
    let mut units: Vec<FmuUnit> = Vec::new();
    for name in names {
        let (Some(text), Some(unit)) = (model.units.text_of(&name, time), model.units.unit_of(&name, time)) else {
            continue;
        };
        if units.iter().all(|known| known.name != text) {
            units.push(FmuUnit { name: text, base: base(&unit) });
        }
    }
    units
}

/// Exponents of the base units of the SI; `None` for others, and for roots of units.
fn base(unit: &Vector) -> Option<(Vec<(&'static str, i64)>, f64)> {
    // the last dimension of the table does not belong to the SI
    let si = DIMENSIONS.len() - 1;
    let mut exponents = Vec::new();
    for (key, power) in unit.iter() {
        match key.atom {
            Atom::Dimension(d) if usize::from(d) < si && key.exponent == 0 => {
                exponents.push((DIMENSIONS[usize::from(d)], power.as_whole()?));
            }
            Atom::Prime(_) | Atom::Pi if key.exponent == 0 => {}
            _ => return None,
        }
    }
    Some((exponents, unit.scale()))
}

/// The FMI name of this platform.
fn platform() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    format!("{}-{system}", std::env::consts::ARCH)
}

/// Compiles the library in a temporary folder; the error is the reason why that is impossible.
fn library(fmu: &Fmu) -> Result<Entry, String> {
    if !cfg!(unix) {
        return Err(format!("odec cannot build a library for {}", platform()));
    }
    let folder = std::env::temp_dir().join(format!("odec-fmu-{}", std::process::id()));
    let made = compiled(fmu, &folder);
    let _ = std::fs::remove_dir_all(&folder);
    made
}

fn compiled(fmu: &Fmu, folder: &Path) -> Result<Entry, String> {
    let extension = if cfg!(target_os = "macos") { "dylib" } else { "so" };
    let name = format!("{}.{extension}", fmu.identifier);
    std::fs::create_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for (path, text) in &fmu.files {
        if let Some(name) = path.strip_prefix("sources/") {
            std::fs::write(folder.join(name), text).map_err(|e| format!("{}: {e}", folder.display()))?;
        }
    }
    let mut command = Command::new(COMPILER);
    command.current_dir(folder).args([
        "-std=c99",
        "-O2",
        "-ffp-contract=off",
        "-fPIC",
        "-fvisibility=hidden",
        "-shared",
    ]);
    command.args(&fmu.sources).args(["-o", &name, "-lm"]);
    command.stdin(Stdio::null());
    let ran = command.output().map_err(|e| format!("the C compiler `{COMPILER}` is not installed ({e})"))?;
    if !ran.status.success() {
        let why = String::from_utf8_lossy(&ran.stderr);
        return Err(format!("`{COMPILER}` does not compile the sources: {}", why.lines().next().unwrap_or_default()));
    }
    let bytes = std::fs::read(folder.join(&name)).map_err(|e| format!("{name}: {e}"))?;
    Ok(Entry { path: format!("binaries/{}/{name}", platform()), bytes, executable: true })
}

/// The message for an archive above 4 GiB.
fn too_large() -> Diagnostic {
    error(&codes::E0812, "an FMU of more than 4 GiB".to_string(), Some("reduce the model".to_string()))
}
