//! A source text with its name: what a user hands to the compiler.

use crate::diagnostic::Diagnostic;
use crate::syntax::limits::MAX_SOURCE_BYTES;

/// A model's text, and what it is called in messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Path or name, for messages only.
    pub name: String,
    /// The text, valid UTF-8, as it stands in the file.
    pub text: String,
}

impl Source {
    /// A source from text that is known to be UTF-8.
    pub fn new(name: impl Into<String>, text: impl Into<String>) -> Source {
        Source { name: name.into(), text: text.into() }
    }

    /// A source from the bytes of a file.
    ///
    /// # Errors
    /// A diagnostic if the file is longer than [`MAX_SOURCE_BYTES`] or is not UTF-8; it names the first bad byte.
    pub fn from_bytes(name: impl Into<String>, bytes: Vec<u8>) -> Result<Source, Diagnostic> {
        let name = name.into();
        if bytes.len() > MAX_SOURCE_BYTES {
            return Err(Diagnostic::error("E0102", format!("{name} is longer than {MAX_SOURCE_BYTES} bytes"))
                .help("split the model, or move its tables into CSV files"));
        }
        match String::from_utf8(bytes) {
            Ok(text) => Ok(Source { name, text }),
            Err(error) => {
                let at = error.utf8_error().valid_up_to();
                let bytes = error.as_bytes();
                let line = bytes[..at].split(|&byte| byte == b'\n').count();
                let bad = bytes.get(at).copied().unwrap_or_default();
                let headline = format!("{name} is not UTF-8 text: byte {at} (line {line}) is 0x{bad:02X}");
                Err(Diagnostic::error("E0101", headline)
                    .help("save the file as UTF-8; in an editor this is often called \"encoding\""))
            }
        }
    }

    /// Line and column of a byte, both from 1; the column counts characters.
    pub fn position(&self, byte: usize) -> (usize, usize) {
        let mut byte = byte.min(self.text.len());
        while !self.text.is_char_boundary(byte) {
            byte -= 1;
        }
        let before = &self.text[..byte];
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        (1 + before.matches('\n').count(), 1 + before[start..].chars().count())
    }
}
