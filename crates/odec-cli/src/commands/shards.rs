//! Parts of a sweep, computed on several machines and joined on one: `odec sweep --shard K/N` and `--join`. A part is
//! a table and a certificate, which is written last: a part without a certificate is incomplete.

mod convert;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_sim::blame::grouped;
use odec_sim::points::Points;
use odec_sim::{Error, Simulation};
use serde::{Deserialize, Serialize};

use crate::exit::Exit;
use crate::flags;
use crate::input::{Inputs, error, unreadable};
use crate::report::{Reporter, say};
use crate::rows::{RowsError, cannot_write, shortest};
use crate::session::fail;
use crate::table::{Format, Meta};
use crate::whole::{Draft, hidden_path, not_written, write_file};

/// Largest number of failed runs in a message.
const LISTED: usize = 20;
/// Number of bytes copied at a time.
const BLOCK: usize = 1 << 16;

type Answer<T> = Result<T, Box<Diagnostic>>;

/// A failed run of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Failed {
    /// Its number in the whole sweep.
    pub point: u64,
    /// The values that vary.
    pub values: Vec<(String, f64)>,
    /// The reason, in one sentence; only for the first ones.
    pub why: Option<String>,
}

/// The description of a complete part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartManifest {
    /// Digest of the model, the ranges, and the settings.
    digest: String,
    part: u64,
    parts: u64,
    runs: u64,
    rows: u64,
    bytes: u64,
    /// Digest of the bytes of the table.
    check: String,
    failed: Vec<Failed>,
    /// Run-length encoding: numbers of rows of a run, and numbers of consecutive runs with as many rows.
    #[serde(default)]
    counts: Vec<(u64, u64)>,
    /// The names of the quantities that vary.
    #[serde(default)]
    names: Vec<String>,
    /// The metadata of the rows, for formats with metadata.
    #[serde(default)]
    meta: Meta,
    /// The kind of machine.
    machine: String,
    odec: String,
}

/// FNV-1a with 64 bits (Fowler, Noll and Vo).
#[derive(Clone, Copy)]
pub(super) struct Digest(u64);

impl Digest {
    pub(super) const fn new() -> Digest {
        Digest(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn take(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A text with its length, so that two texts differ from their concatenation.
    pub(super) fn text(&mut self, text: &str) {
        self.take(&(text.len() as u64).to_le_bytes());
        self.take(text.as_bytes());
    }

    /// The bytes of a file, with their number.
    pub(super) fn file(&mut self, path: &Path) -> Answer<()> {
        let bytes = std::fs::read(path).map_err(|e| unreadable(path, &e))?;
        self.take(&(bytes.len() as u64).to_le_bytes());
        self.take(&bytes);
        Ok(())
    }

    pub(super) fn word(self) -> String {
        format!("{:016x}", self.0)
    }
}

/// The digest that all parts of a sweep share.
fn digest(simulation: &Simulation, points: &Points, inputs: &Inputs) -> Answer<String> {
    let c = simulation.choices();
    let mut digest = Digest::new();
    digest.text(env!("CARGO_PKG_VERSION"));
    digest.text(&simulation.source().text);
    digest.text(&format!("{:?}", (&c.run, &c.params, &c.set, &c.set_units, &c.open, c.t0, c.t_end, &c.time_units)));
    digest.text(&format!("{:?}", (&c.method, c.step, c.rtol, c.atol, &c.atol_for, &c.samples, &c.record)));
    digest.text(&format!("{:?}", (&c.atol_units, &c.step_units, &c.sample_units)));
    digest.text(&format!("{:?}", (c.max_step, c.max_steps, c.linear, c.interpret)));
    digest.text(&points.described());
    for path in inputs.files() {
        digest.file(path)?;
    }
    Ok(digest.word())
}

fn wrong(code: &'static Code, headline: String, help: &str) -> Box<Diagnostic> {
    Box::new(error(code, headline, Some(help.to_string())))
}

/// The facts about the rows of a part.
pub struct PartFacts {
    pub runs: u64,
    pub rows: u64,
    pub failed: Vec<Failed>,
    /// Run-length encoding: numbers of rows of a run, and numbers of consecutive runs with as many rows.
    pub counts: Vec<(u64, u64)>,
    /// The names of the quantities that vary.
    pub names: Vec<String>,
    pub meta: Meta,
}

/// A part to compute.
pub struct SweepPart {
    folder: PathBuf,
    digest: String,
    k: u64,
    n: u64,
    /// The table under a temporary name.
    draft: PathBuf,
}

impl SweepPart {
    /// The part of `--shard` in the folder of `-o`, and its points.
    pub fn of(
        (text, folder): (&str, &Path),
        simulation: &Simulation,
        points: Points,
        inputs: &Inputs,
    ) -> Answer<(SweepPart, Points)> {
        let (k, n) = flags::shard(text)?;
        let digest = digest(simulation, &points, inputs)?;
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        let draft = hidden_path(&table(folder, k, n), "part");
        Ok((SweepPart { folder: folder.to_path_buf(), digest, k, n, draft }, points.part(k, n)))
    }

    /// True if the part exists already.
    ///
    /// # Errors
    /// The folder has parts of another sweep.
    pub fn made(&self) -> Answer<bool> {
        // only this part and one other: each was compared with another when it was made, and joining compares all
        let own = table(&self.folder, self.k, self.n).with_extension("json");
        let other = certificates(&self.folder)?.into_iter().find(|path| *path != own);
        for path in own.exists().then_some(own).into_iter().chain(other) {
            let found = read(&path)?;
            if found.digest != self.digest || found.parts != self.n {
                let what = if found.digest == self.digest {
                    format!("belongs to a sweep of {} parts", found.parts)
                } else {
                    "belongs to another sweep: its model, values, tolerances or version differ".to_string()
                };
                let table = table(&self.folder, found.part, found.parts);
                let headline = format!("`{}` {what}", table.display());
                return Err(wrong(&codes::E0852, headline, "choose another folder, or delete the old parts"));
            }
            if found.part == self.k && whole(&self.folder, &found)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The path of the rows until they are complete.
    pub fn draft(&self) -> &Path {
        &self.draft
    }

    /// Renames the table, and writes the certificate.
    pub fn publish(self, made: PartFacts) -> Answer<()> {
        let PartFacts { runs, rows, failed, counts, names, meta } = made;
        let (bytes, check) = measured(&self.draft)?;
        let certificate = PartManifest {
            digest: self.digest.clone(),
            part: self.k,
            parts: self.n,
            runs,
            rows,
            bytes,
            check,
            failed,
            counts,
            names,
            meta,
            machine: machine(),
            odec: env!("CARGO_PKG_VERSION").to_string(),
        };
        let place = table(&self.folder, self.k, self.n);
        std::fs::rename(&self.draft, &place).map_err(|e| not_written(&place, &e))?;
        let text = serde_json::to_string_pretty(&certificate).unwrap_or_default();
        write_file(&place.with_extension("json"), text.as_bytes())
    }

    /// The note about a part that already exists.
    pub fn there(&self) -> String {
        format!("part {} of {} is already in `{}`\n", self.k, self.n, self.folder.display())
    }
}

impl Drop for SweepPart {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.draft);
    }
}

fn table(folder: &Path, k: u64, n: u64) -> PathBuf {
    folder.join(format!("part-{k}-of-{n}.csv"))
}

/// The kind of processor: on other kinds the last bits may differ.
fn machine() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text.lines().find_map(|line| line.strip_prefix("model name")?.split_once(':'));
    name.map_or(std::env::consts::ARCH.to_string(), |(_, name)| name.trim().to_string())
}

/// Length and digest of a file.
fn measured(path: &Path) -> Answer<(u64, String)> {
    let mut file = File::open(path).map_err(|e| unreadable(path, &e))?;
    let (mut digest, mut bytes, mut block) = (Digest::new(), 0, vec![0; BLOCK]);
    loop {
        match file.read(&mut block).map_err(|e| unreadable(path, &e))? {
            0 => return Ok((bytes, digest.word())),
            n => {
                digest.take(&block[..n]);
                bytes += n as u64;
            }
        }
    }
}

/// True if the table of a part matches its certificate.
fn whole(folder: &Path, part: &PartManifest) -> Answer<bool> {
    let path = table(folder, part.part, part.parts);
    if !path.is_file() {
        return Ok(false);
    }
    Ok(measured(&path)? == (part.bytes, part.check.clone()))
}

/// The certificate files in a folder.
fn certificates(folder: &Path) -> Answer<Vec<PathBuf>> {
    let mut found = vec![];
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        let path = entry.map_err(|e| unreadable(folder, &e))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("part-") && name.ends_with(".json") {
            found.push(path);
        }
    }
    Ok(found)
}

fn read(path: &Path) -> Answer<PartManifest> {
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, &e))?;
    serde_json::from_str(&text).map_err(|_| {
        let headline = format!("`{}` is not a certificate of a part", path.display());
        wrong(&codes::E0853, headline, "delete it, and run the part again")
    })
}

/// Writes the rows of all parts as one table.
pub fn join(folder: &Path, output: Option<&Path>, reporter: Reporter) -> Result<Exit, Error> {
    let parts = complete(folder)?;
    let output = output.filter(|path| *path != Path::new("-"));
    let format = output.map_or(Ok(Format::Csv), Format::of)?;
    let joined = match output {
        Some(path) if format != Format::Csv => convert::convert(folder, &parts, path, format),
        _ => copy(folder, &parts, output),
    };
    match joined {
        Ok(()) => {}
        Err(RowsError::Closed) => return Ok(Exit::Success),
        Err(RowsError::Failed(d)) => return Err(d.into()),
    }
    let sum = |of: fn(&PartManifest) -> u64| parts.iter().map(of).sum::<u64>();
    if !reporter.quiet() && reporter.human() {
        let machines: BTreeSet<&str> = parts.iter().map(|part| part.machine.as_str()).collect();
        let (runs, rows) = (grouped(sum(|p| p.runs)), grouped(sum(|p| p.rows)));
        let to = output.map(|path| format!(" in {}", path.display())).unwrap_or_default();
        let mut text = format!("joined     {} parts, {runs} runs, {rows} rows{to}\n", parts.len());
        if machines.len() > 1 {
            let list = machines.into_iter().collect::<Vec<_>>().join("; ");
            text.push_str(&format!("machines   of different kinds, whose last bits may differ: {list}\n"));
        }
        say(&text);
    }
    let failed: Vec<&Failed> = parts.iter().flat_map(|part| &part.failed).collect();
    Ok(if failed.is_empty() { Exit::Success } else { fail(&failed_runs(&failed, sum(|p| p.runs)).into(), reporter) })
}

/// The parts in a folder, if none is missing or damaged.
fn complete(folder: &Path) -> Answer<Vec<PartManifest>> {
    let mut found = certificates(folder)?.iter().map(|path| read(path)).collect::<Answer<Vec<PartManifest>>>()?;
    found.sort_by_key(|part| (part.parts, part.part));
    let again = "run the part again: `odec sweep` with the same flags and its `--shard`";
    let Some(first) = found.first() else {
        let headline = format!("`{}` contains no parts of a sweep", folder.display());
        return Err(wrong(
            &codes::E0853,
            headline,
            "run the parts first: `odec sweep model.ode ... --shard 0/10 -o parts/`",
        ));
    };
    if let Some(other) = found.iter().find(|part| part.digest != first.digest || part.parts != first.parts) {
        let (a, b) = (table(folder, first.part, first.parts), table(folder, other.part, other.parts));
        let headline = format!("`{}` and `{}` are parts of different sweeps", a.display(), b.display());
        return Err(wrong(&codes::E0852, headline, "keep the parts of each sweep in a separate folder"));
    }
    let there: BTreeSet<u64> = found.iter().map(|part| part.part).collect();
    let missing: Vec<u64> = (0..first.parts).filter(|k| !there.contains(k)).take(LISTED + 1).collect();
    if !missing.is_empty() {
        let mut list: Vec<String> = missing.iter().take(LISTED).map(u64::to_string).collect();
        if missing.len() > LISTED {
            list.push("...".to_string());
        }
        let count = first.parts - there.len() as u64;
        let headline = format!("{} of {} parts are missing: {}", grouped(count), first.parts, list.join(", "));
        return Err(wrong(&codes::E0853, headline, again));
    }
    for part in &found {
        if !whole(folder, part)? {
            let path = table(folder, part.part, part.parts);
            let headline = format!("`{}` is damaged: its content has changed since odec wrote it", path.display());
            return Err(wrong(&codes::E0853, headline, again));
        }
    }
    Ok(found)
}

/// Copies one header line and the rows of all parts.
fn copy(folder: &Path, parts: &[PartManifest], output: Option<&Path>) -> Result<(), RowsError> {
    let failed = RowsError::Failed;
    let mut draft = output.map(Draft::begin).transpose().map_err(failed)?;
    let mut stdout = BufWriter::with_capacity(BLOCK, std::io::stdout());
    for part in parts {
        let path = table(folder, part.part, part.parts);
        let mut file = BufReader::new(File::open(&path).map_err(|e| failed(unreadable(&path, &e)))?);
        let mut header = vec![];
        file.read_until(b'\n', &mut header).map_err(|e| failed(unreadable(&path, &e)))?;
        let mut block = if part.part == 0 { header } else { vec![] };
        loop {
            match &mut draft {
                Some(draft) => draft.write(&block).map_err(failed)?,
                None => stdout.write_all(&block).map_err(|e| refused(&e))?,
            }
            block.resize(BLOCK, 0);
            let n = file.read(&mut block).map_err(|e| failed(unreadable(&path, &e)))?;
            block.truncate(n);
            if n == 0 {
                break;
            }
        }
    }
    match draft {
        Some(draft) => draft.publish().map_err(failed),
        None => stdout.flush().map_err(|e| refused(&e)),
    }
}

/// The error of a failed write to standard output.
fn refused(e: &std::io::Error) -> RowsError {
    if e.kind() == std::io::ErrorKind::BrokenPipe {
        return RowsError::Closed;
    }
    RowsError::Failed(not_written(Path::new("standard output"), e))
}

/// The message about failed runs.
fn failed_runs(failed: &[&Failed], runs: u64) -> Diagnostic {
    let line = |one: &&Failed| {
        let at: Vec<String> = one.values.iter().map(|(name, x)| format!("{name} = {}", shortest(*x))).collect();
        let why = one.why.as_ref().map(|why| format!(": {why}")).unwrap_or_default();
        format!("run {} at {}{why}", one.point + 1, at.join(", "))
    };
    let mut list: Vec<String> = failed.iter().take(LISTED).map(line).collect();
    if failed.len() > LISTED {
        list.push(format!("and {} more", grouped((failed.len() - LISTED) as u64)));
    }
    let verb = if failed.len() == 1 { "run failed" } else { "runs failed" };
    let headline = format!("{} {verb} out of {}", grouped(failed.len() as u64), grouped(runs));
    error(&codes::E0621, headline, Some(list.join("\n")))
}
