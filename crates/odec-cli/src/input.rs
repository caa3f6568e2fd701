//! Reads model files and reports errors of files; errors in models are reported elsewhere.

use std::io::Read;
use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Code, Diagnostic, codes};
use odec_lang::model::inputs::CurveSource;
use odec_lang::model::{Model, Table};
use odec_lang::source::Source;

use crate::args;
use crate::folder::Folder;

/// Largest number of bytes that are read: one more than the limit, so that the compiler notices a text that is too long.
const MAX_READ: u64 = odec_lang::limits::MAX_SOURCE_BYTES as u64 + 1;

/// A diagnostic of the command itself, without a source location.
pub fn error(code: &'static Code, headline: String, help: Option<String>) -> Diagnostic {
    Diagnostic { help, ..Diagnostic::error(code, headline) }
}

/// The text of `path`, `-` for standard input.
pub fn read(path: &Path) -> Result<Source, Box<Diagnostic>> {
    let name = if path == Path::new("-") { "<standard input>".to_string() } else { path.display().to_string() };
    let unreadable = |e: std::io::Error| {
        let (headline, help) = match e.kind() {
            std::io::ErrorKind::NotFound => {
                (format!("there is no file `{name}`"), neighbour(path).map(|n| format!("did you mean `{n}`?")))
            }
            std::io::ErrorKind::PermissionDenied => (format!("odec cannot read `{name}`: permission denied"), None),
            _ => (format!("odec cannot read `{name}`: {}", plain(&e)), None),
        };
        Box::new(error(&codes::E0701, headline, help))
    };
    let mut bytes = vec![];
    if path == Path::new("-") {
        std::io::stdin().lock().take(MAX_READ).read_to_end(&mut bytes).map_err(unreadable)?;
    } else {
        let file = std::fs::File::open(path).map_err(unreadable)?;
        if file.metadata().map_err(unreadable)?.is_dir() {
            let help = models(path);
            return Err(Box::new(error(&codes::E0701, format!("`{name}` is a directory, not a model"), help)));
        }
        file.take(MAX_READ).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if is_table(path, &bytes) {
        let help = format!("the model comes first: `odec fit MODEL.ode {name} --params k`");
        return Err(Box::new(error(&codes::E0701, format!("`{name}` is a table, not a model"), Some(help))));
    }
    Source::from_bytes(name, bytes).map_err(Box::new)
}

/// True for a file of data that is given instead of a model: its first line is a list without `=`.
fn is_table(path: &Path, bytes: &[u8]) -> bool {
    let kind = path.extension().and_then(|e| e.to_str()).unwrap_or_default().to_ascii_lowercase();
    let lines = bytes.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let first = lines.into_iter().find(|line| !line.is_empty() && !line.starts_with(b"#")).unwrap_or_default();
    matches!(kind.as_str(), "csv" | "tsv") && !first.contains(&b'=') && !first.starts_with(b"model ")
}

/// The files that a command reads, each with a description.
#[derive(Debug, Default)]
pub struct Inputs(Vec<(PathBuf, String)>);

impl Inputs {
    /// The files of a model, including its parts and tables.
    pub fn of(file: &args::ModelArgs, model: &Model, source: &Source) -> Inputs {
        let folder = Folder::of(file);
        let given = model.constants.iter().chain(&model.parameters);
        let tables = given.filter_map(|given| match &given.table {
            Some(Table::Csv { file, .. }) => Some((folder.path(file), format!("a table of the model, `{file}`"))),
            _ => None,
        });
        let samples = model.inputs.iter().filter_map(|input| match &input.source {
            CurveSource::Csv { file, .. } => Some((folder.path(file), format!("the samples of an input, `{file}`"))),
            CurveSource::Lists(..) => None,
        });
        let given = file.files.data.iter().filter_map(|text| text.split_once('='));
        let given = given.map(|(_, other)| (PathBuf::from(other), format!("the samples of an input, `{other}`")));
        let model = std::iter::once((file.file.clone(), "the model".to_string()));
        let parts = (1..source.file_count()).map(|k| {
            let name = source.file_name(k);
            (PathBuf::from(name), format!("a part of the model, `{name}`"))
        });
        Inputs(model.chain(parts).chain(tables).chain(samples).chain(given).collect())
    }
}

impl Inputs {
    /// Adds further files that the command reads.
    pub fn with(mut self, more: Vec<(PathBuf, String)>) -> Inputs {
        self.0.extend(more);
        self
    }

    /// The files of the model, without its text.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().skip(1).map(|(path, _)| path.as_path())
    }
}

/// Largest number of symbolic links that [`target`] follows, one after another, as on Linux.
const MAX_LINKS: usize = 40;

/// The file that a path names, which need not exist: its folder without links, and its name there.
fn target(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        let Ok(next) = path.read_link() else { break };
        path = path.parent().unwrap_or(Path::new("")).join(next);
    }
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Some(folder.canonicalize().ok()?.join(path.file_name()?))
}

/// True if two paths refer to the same file, including symbolic and hard links.
fn same(a: &Path, b: &Path) -> bool {
    if a == b {
        return true;
    }
    let (first, second) = match (a.metadata(), b.metadata()) {
        (Ok(first), Ok(second)) => (first, second),
        // no file yet
        (Err(_), Err(_)) => return target(a).is_some_and(|a| target(b) == Some(a)),
        _ => return false,
    };
    let linked = a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b));
    first.is_file() && second.is_file() && (linked || one_file(&first, &second))
}

/// True for two names of one file on disk.
#[cfg(unix)]
fn one_file(a: &std::fs::Metadata, b: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

/// Hard links can be detected only on Unix.
#[cfg(not(unix))]
fn one_file(_: &std::fs::Metadata, _: &std::fs::Metadata) -> bool {
    false
}

/// Refuses to overwrite a file of the model, or to write two outputs into one file. `outputs` are paths with their
/// flags.
pub fn keep_apart(inputs: &Inputs, outputs: &[(&str, Option<&Path>)]) -> Result<(), Box<Diagnostic>> {
    let stdin = Path::new("-");
    let named = outputs.iter().filter_map(|(flag, path)| Some((*flag, (*path)?)));
    let (standard, named): (Vec<_>, Vec<(&str, &Path)>) = named.partition(|(_, path)| *path == stdin);
    if let [(first, _), (second, _), ..] = standard[..] {
        let headline = format!("`{first} -` and `{second} -` cannot share standard output");
        return Err(Box::new(error(&codes::E0702, headline, Some("write one of them to a file".to_string()))));
    }
    for (k, (flag, path)) in named.iter().enumerate() {
        if let Some((_, what)) = inputs.0.iter().find(|(input, _)| same(path, input)) {
            let headline = format!("`{flag} {}` would overwrite {what}", path.display());
            return Err(Box::new(error(&codes::E0702, headline, Some("choose another file".to_string()))));
        }
        if let Some((other, _)) = named[..k].iter().find(|(_, p)| same(path, p)) {
            let headline = format!("`{other}` and `{flag}` both name `{}`", path.display());
            let help = "choose another file for one of them".to_string();
            return Err(Box::new(error(&codes::E0702, headline, Some(help))));
        }
    }
    Ok(())
}

/// The message of the operating system without its number.
pub fn plain(e: &std::io::Error) -> String {
    let text = e.to_string();
    match text.find(" (os error") {
        Some(k) => text[..k].to_lowercase(),
        None => text.to_lowercase(),
    }
}

/// A file or folder that odec cannot read, in E0701.
pub fn unreadable(path: &Path, e: &std::io::Error) -> Box<Diagnostic> {
    Box::new(error(&codes::E0701, format!("odec cannot read `{}`: {}", path.display(), plain(e)), None))
}

/// A file in the same folder with a similar name.
pub fn neighbour(path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?;
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let stem = wanted.strip_suffix(".ode").unwrap_or(wanted);
    let near = model_files(folder)?.into_iter().find(|n| {
        let other = n.strip_suffix(".ode").unwrap_or(n);
        !odec_lang::suggest::nearest(stem, std::iter::once(other)).is_empty()
    })?;
    Some(if folder == Path::new(".") { near } else { folder.join(near).display().to_string() })
}

/// The models in a folder, as suggestions.
fn models(path: &Path) -> Option<String> {
    let first = model_files(path)?.into_iter().next()?;
    Some(format!("choose a model in it, for example `{}`", path.join(first).display()))
}

/// The names of the models among the first 1,000 files of a folder, sorted; `None` if odec cannot read the folder.
fn model_files(folder: &Path) -> Option<Vec<String>> {
    let files = std::fs::read_dir(folder).ok()?.take(1000);
    let names = files.filter_map(|e| e.ok()?.file_name().into_string().ok());
    let mut names: Vec<String> = names.filter(|n| n.ends_with(".ode")).collect();
    names.sort();
    Some(names)
}
