//! A source text with its name: the input of the compiler. The texts of used files follow it, so that a location in
//! any file is a byte range of one text.

mod origin;

use std::collections::BTreeMap;
use std::sync::Arc;

use odec_ir::Span;

use crate::diagnostic::{Diagnostic, Fix, codes};
use crate::limits::{MAX_PART_FILES, MAX_SOURCE_BYTES};
pub use origin::Origin;

/// The text of a model, and its name in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path or name, for messages only.
    pub name: String,
    /// The text as in the file, valid UTF-8, followed by the texts of the files that it uses.
    pub text: String,
    /// The files after the model's own text.
    files: Vec<FileRange>,
    /// The origin of the text, if a tool generated it.
    origin: Option<Arc<Origin>>,
    /// The target of each `use`: by the file that contains it, 0 for the model itself, and the text between its
    /// quotes.
    links: BTreeMap<(usize, String), Link>,
}

/// A file after the model's own text.
#[derive(Clone, Debug, PartialEq, Eq)]
struct FileRange {
    name: String,
    folder: String,
    start: usize,
    end: usize,
}

/// The target of a `use`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// This file; 0 is the model itself.
    To(usize),
    /// Nowhere.
    Nowhere(NoPart),
}

/// The host's access to files with parts of models. Files are opened in no other way.
pub trait PartFiles {
    /// Opens the file that another one uses by this name. `folder` is the folder of the other file, empty for the
    /// model itself.
    ///
    /// # Errors
    /// The reason, for a message.
    fn part(&self, folder: &str, name: &str) -> Result<PartFile, NoPart>;
}

/// A file with a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartFile {
    /// Its name in messages, unique for each file.
    pub name: String,
    /// The folder in which the files that it names are searched, relative to the model.
    pub folder: String,
    /// Its contents; one byte more than [`MAX_SOURCE_BYTES`] is enough.
    pub bytes: Vec<u8>,
}

/// The reason why a part cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoPart {
    /// One sentence.
    pub headline: String,
    /// Advice to the user.
    pub help: Option<String>,
}

impl From<Diagnostic> for NoPart {
    fn from(d: Diagnostic) -> NoPart {
        NoPart { headline: d.headline, help: d.help }
    }
}

impl Source {
    /// A source from valid UTF-8.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into(), files: Vec::new(), origin: None, links: BTreeMap::new() }
    }

    /// The same text with an origin: messages point there.
    #[must_use]
    pub fn made_from(mut self, origin: Origin) -> Source {
        self.origin = Some(Arc::new(origin));
        self
    }

    /// A message about this text as a message about its origin, if that is known.
    pub fn original(&self, d: &Diagnostic) -> Option<(&Source, Diagnostic)> {
        self.origin.as_ref()?.traced(self, d)
    }

    /// A source from the bytes of a file.
    ///
    /// # Errors
    /// A diagnostic if the file is longer than [`MAX_SOURCE_BYTES`] or is not UTF-8; it names the first bad byte.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Source, Diagnostic> {
        let name = name.into();
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(Diagnostic::error(&codes::E0102, format!("{name} is longer than {MAX_SOURCE_BYTES} bytes"))
                .help("split the model, or move its tables into CSV files"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source::new(name, text)),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                let line = bytes[..at].split(|&byte| byte == b'\n').count();
                let bad = bytes.get(at).copied().unwrap_or_default();
                let headline = format!("{name} is not UTF-8 text: byte {at} (line {line}) is 0x{bad:02X}");
                let help = match bytes {
                    [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "the file is in UTF-16: save it as UTF-8",
                    _ => "save the file as UTF-8; editors often call this \"encoding\"",
                };
                Err(Diagnostic::error(&codes::E0101, headline).help(help))
            }
        }
    }

    /// The source with the files that it uses, directly or indirectly.
    #[must_use]
    pub fn with_parts(self, parts: &dyn PartFiles) -> Source {
        self.with_files(parts, &used_files)
    }

    /// Like [`Source::with_parts`], for a text in another language: `used` finds the names of the files that a text uses.
    #[must_use]
    pub fn with_files(self, parts: &dyn PartFiles, used: &dyn Fn(&str) -> Vec<String>) -> Source {
        let name = self.name.clone();
        let mut whole = Source { origin: self.origin.clone(), ..Source::new(name, self.model().to_owned()) };
        let mut from = 0;
        while from <= whole.files.len() {
            for name in used(whole.file_text(from)) {
                if !whole.links.contains_key(&(from, name.clone())) {
                    let link = whole.read(from, &name, parts);
                    whole.links.insert((from, name), link);
                }
            }
            from += 1;
        }
        whole
    }

    fn read(&mut self, from: usize, used: &str, parts: &dyn PartFiles) -> Link {
        let folder = from.checked_sub(1).map_or("", |k| self.files[k].folder.as_str());
        let file = match parts.part(folder, used) {
            Ok(file) => file,
            Err(nowhere) => return Link::Nowhere(nowhere),
        };
        if let Some(k) = self.files.iter().position(|known| known.name == file.name) {
            return Link::To(k + 1);
        }
        if file.name == self.name {
            return Link::To(0);
        }
        if self.files.len() >= MAX_PART_FILES {
            let headline = format!("the model uses more than {MAX_PART_FILES} files");
            return Link::Nowhere(NoPart { headline, help: Some("put several parts into one file".to_owned()) });
        }
        let part = match Source::from_bytes(file.name, file.bytes) {
            Ok(part) => part,
            Err(diagnostic) => return Link::Nowhere(diagnostic.into()),
        };
        if self.text.len() + part.text.len() >= MAX_SOURCE_BYTES {
            let headline = format!("the model and its parts are longer than {MAX_SOURCE_BYTES} bytes");
            return Link::Nowhere(NoPart { headline, help: Some("move tables into CSV files".to_owned()) });
        }
        self.text.push('\n');
        let start = self.text.len();
        self.text.push_str(&part.text);
        self.files.push(FileRange { name: part.name, folder: file.folder, start, end: self.text.len() });
        Link::To(self.files.len())
    }

    /// The target of a `use` in a file; `None` if no files were read.
    pub(crate) fn link(&self, from: usize, used: &str) -> Option<&Link> {
        self.links.get(&(from, used.to_owned()))
    }

    /// The file that a file uses by this name, or the reason why it was not read; `None` if files were not searched.
    pub fn linked(&self, from: usize, used: &str) -> Option<Result<usize, &NoPart>> {
        self.link(from, used).map(|link| match link {
            Link::To(file) => Ok(*file),
            Link::Nowhere(why) => Err(why),
        })
    }

    /// The number of files, including the model itself.
    pub fn file_count(&self) -> usize {
        1 + self.files.len()
    }

    /// Files were looked for.
    pub(crate) fn is_linked(&self) -> bool {
        !self.links.is_empty()
    }

    /// True for a model of one file.
    pub fn is_alone(&self) -> bool {
        self.files.is_empty()
    }

    /// The text of the model's own file.
    pub fn model(&self) -> &str {
        &self.text[..self.files.first().map_or(self.text.len(), |file| file.start - 1)]
    }

    /// The text of a file; 0 is the model's own.
    pub fn file_text(&self, file: usize) -> &str {
        &self.text[self.range(file)]
    }

    /// The byte range of a file in the text.
    pub fn range(&self, file: usize) -> std::ops::Range<usize> {
        match file.checked_sub(1).and_then(|k| self.files.get(k)) {
            Some(file) => file.start..file.end,
            None => 0..self.model().len(),
        }
    }

    /// The file that contains a byte; 0 is the model itself.
    pub fn file_at(&self, byte: usize) -> usize {
        self.files.partition_point(|file| file.start <= byte)
    }

    /// The name of a file.
    pub fn file_name(&self, file: usize) -> &str {
        file.checked_sub(1).and_then(|k| self.files.get(k)).map_or(&self.name, |file| &file.name)
    }

    /// The folder in which the files that a file names are searched.
    pub(crate) fn folder(&self, file: usize) -> &str {
        file.checked_sub(1).and_then(|k| self.files.get(k)).map_or("", |file| &file.folder)
    }

    /// Line and column of a byte in its file, both from 1; the column counts characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[self.range(self.file_at(byte)).start.min(byte)..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
    }

    /// The name of the file of a location, and its line and column there.
    pub fn place(&self, span: Span) -> (&str, usize, usize) {
        let (line, column) = self.position(span.start as usize);
        (self.file_name(self.file_at(span.start as usize)), line, column)
    }

    /// The source after replacements, if their locations exist. The result for overlapping replacements is undefined.
    pub(crate) fn edited(&self, fixes: &[Fix]) -> Option<Source> {
        let mut edited = self.clone();
        edited.text = crate::diagnostic::apply(&self.text, fixes)?;
        let moved = |at: usize| {
            let (mut grown, mut shrunk) = (0, 0);
            for fix in fixes.iter().filter(|fix| (fix.span.end as usize) < at) {
                grown += fix.text.len();
                shrunk += fix.span.range().len();
            }
            at + grown - shrunk
        };
        for file in &mut edited.files {
            (file.start, file.end) = (moved(file.start), moved(file.end + 1) - 1);
        }
        Some(edited)
    }
}

/// The files that the lines of a text use, each once: `use` is the first word of a line.
fn used_files(text: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some(rest) = line.trim_start().strip_prefix("use") else { continue };
        let Some(rest) = rest.trim_start().strip_prefix('"') else { continue };
        if let Some((file, _)) = rest.split_once('"')
            && !files.iter().any(|known| known == file)
        {
            files.push(file.to_owned());
        }
    }
    files
}
