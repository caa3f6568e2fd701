//! Parts of the starts of a fit, computed on several machines: each part writes its best point, and `--join` selects
//! the best of all.

use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::blame::grouped;
use odec_sim::fit::Ended;
use serde::{Deserialize, Serialize};

use super::Best;
use crate::commands::shards::Digest;
use crate::input::{error, unreadable};
use crate::rows::cannot_write;
use crate::whole::write_file;

type Answer<T> = Result<T, Box<Diagnostic>>;

/// The result of a part.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct PartResult {
    digest: String,
    part: u64,
    parts: u64,
    /// Inner values of the best end; empty if no start has a run.
    point: Vec<f64>,
    /// `minimum`, `stuck` or `evaluations`.
    ended: String,
    /// Sum of squares of each start.
    squares: Vec<Option<f64>>,
    evaluations: u64,
}

/// A part to compute.
pub struct FitPart {
    folder: PathBuf,
    digest: String,
    k: u64,
    n: u64,
}

const WORDS: [(Ended, &str); 3] =
    [(Ended::Minimum, "minimum"), (Ended::Stuck, "stuck"), (Ended::Evaluations, "evaluations")];

/// A digest of texts and files.
pub fn digest<'a>(texts: &[String], files: impl Iterator<Item = &'a Path>) -> Answer<String> {
    let mut digest = Digest::new();
    for text in texts {
        digest.text(text);
    }
    for path in files {
        digest.file(path)?;
    }
    Ok(digest.word())
}

fn place(folder: &Path, k: u64, n: u64) -> PathBuf {
    folder.join(format!("fit-{k}-of-{n}.json"))
}

fn read(path: &Path) -> Answer<PartResult> {
    let text = std::fs::read_to_string(path).map_err(|e| unreadable(path, &e))?;
    serde_json::from_str(&text).map_err(|_| {
        let headline = format!("`{}` is not a part of a fit", path.display());
        Box::new(error(&codes::E0853, headline, Some("delete it, and run the part again".into())))
    })
}

impl FitPart {
    /// Part `k` of `n`.
    pub fn of((k, n): (u64, u64), folder: &Path, digest: String, starts: u64) -> Answer<FitPart> {
        if n > starts {
            let headline = format!("`--shard {k}/{n}`: {starts} starts are too few for {n} parts");
            return Err(Box::new(error(&codes::E0705, headline, Some(format!("for example `--starts {n}`")))));
        }
        std::fs::create_dir_all(folder).map_err(|e| cannot_write(folder, &e))?;
        Ok(FitPart { folder: folder.to_path_buf(), digest, k, n })
    }

    /// True if the part exists already.
    ///
    /// # Errors
    /// It belongs to another fit.
    pub fn made(&self) -> Answer<bool> {
        let path = place(&self.folder, self.k, self.n);
        if !path.is_file() {
            return Ok(false);
        }
        same(&read(&path)?, &self.digest, &path)?;
        Ok(true)
    }

    /// The starts of the part.
    pub fn starts(&self, starts: u64) -> std::ops::Range<u64> {
        let border = |k: u64| (u128::from(k) * u128::from(starts) / u128::from(self.n)) as u64;
        border(self.k)..border(self.k + 1)
    }

    /// Writes the result.
    pub fn publish(&self, best: &Best) -> Answer<()> {
        let ended = WORDS.iter().find(|(ended, _)| *ended == best.ended).map_or("", |(_, word)| word).to_string();
        let result = PartResult {
            digest: self.digest.clone(),
            part: self.k,
            parts: self.n,
            point: best.point.clone(),
            ended,
            squares: best.squares.clone(),
            evaluations: best.evaluations,
        };
        let text = serde_json::to_string_pretty(&result).unwrap_or_default();
        write_file(&place(&self.folder, self.k, self.n), text.as_bytes())
    }

    /// The message for a part that exists already.
    pub fn there(&self) -> String {
        format!("part {} of {} is already in `{}`\n", self.k, self.n, self.folder.display())
    }
}

fn same(found: &PartResult, digest: &str, path: &Path) -> Answer<()> {
    if found.digest == digest {
        return Ok(());
    }
    let headline = format!("`{}` belongs to another fit: its model, data, flags or version differ", path.display());
    Err(Box::new(error(&codes::E0852, headline, Some("choose another folder, or remove the old parts".into()))))
}

/// The best of all parts of a folder.
pub fn join(folder: &Path, digest: &str, starts: u64) -> Answer<Best> {
    let mut parts = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|e| unreadable(folder, &e))? {
        let path = entry.map_err(|e| unreadable(folder, &e))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if name.starts_with("fit-") && name.ends_with(".json") {
            let part = read(&path)?;
            same(&part, digest, &path)?;
            parts.push(part);
        }
    }
    parts.sort_by_key(|part| part.part);
    let n = parts.first().map_or(0, |part| part.parts);
    let whole = !parts.is_empty() && parts.iter().enumerate().all(|(k, part)| part.part == k as u64 && part.parts == n);
    if !whole || parts.len() as u64 != n {
        let headline = format!(
            "`{}` contains {} parts of a fit, but {} are needed",
            folder.display(),
            parts.len(),
            grouped(n.max(1))
        );
        let help = "run the missing parts: `odec fit` with the same flags and `--shard K/N`; all parts in a folder need the same N";
        return Err(Box::new(error(&codes::E0853, headline, Some(help.into()))));
    }
    let squares: Vec<Option<f64>> = parts.iter().flat_map(|part| part.squares.iter().copied()).collect();
    if squares.len() as u64 != starts {
        let headline = format!("the parts in `{}` have {} starts, not {starts}", folder.display(), squares.len());
        return Err(Box::new(error(&codes::E0852, headline, Some("use the same `--starts`".into()))));
    }
    let least = |part: &PartResult| part.squares.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let mut best: Option<&PartResult> = None;
    for part in parts.iter().filter(|part| !part.point.is_empty()) {
        if best.is_none_or(|b| least(part) < least(b)) {
            best = Some(part);
        }
    }
    let Some(found) = best else {
        let help = "use narrower ranges, or another starting point: `--set k=1`";
        return Err(Box::new(error(
            &codes::E0855,
            "the model could not be solved from any starting point".into(),
            Some(help.into()),
        )));
    };
    let ended = WORDS.iter().find(|(_, word)| *word == found.ended).map_or(Ended::Stuck, |(ended, _)| *ended);
    let evaluations = parts.iter().map(|part| part.evaluations).sum();
    Ok(Best { point: found.point.clone(), ended, squares, evaluations })
}
