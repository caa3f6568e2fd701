//! The log of events as CSV: one line for each quantity that an event changed, with its values before and after the instant.

use std::path::Path;

use odec_lang::diagnostic::Diagnostic;
use odec_lang::model::Model;
use odec_lang::source::Source;
use odec_sim::sample::EventInstant;

use crate::rows::{Rows, RowsError, shortest};

/// The columns.
const COLUMNS: [&str; 7] = ["round", "event", "line", "index", "name", "before", "after"];

/// The log of a run.
pub struct Log {
    rows: Rows,
    trouble: Option<RowsError>,
    /// The name and the line of each event of the model.
    names: Vec<(String, usize)>,
}

impl Log {
    /// Writes to a file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(path: &Path, model: &Model, source: &Source) -> Result<Log, Box<Diagnostic>> {
        let name = |event: &odec_lang::model::Event| {
            let head = source.text.get(event.head.range()).unwrap_or_default();
            let head = head.split_whitespace().collect::<Vec<_>>().join(" ");
            (event.doc.clone().unwrap_or(head), source.position(event.head.range().start).0)
        };
        let names = model.events.iter().map(name).collect();
        let mut rows = Rows::to_output(Some(path))?;
        let columns = std::iter::once(model.time.name.clone()).chain(COLUMNS.iter().map(|name| (*name).to_string()));
        let trouble = rows.header(columns).err();
        Ok(Log { rows, trouble, names })
    }

    /// Adds the events of an instant.
    pub fn instant(&mut self, instant: &EventInstant) {
        for event in &instant.events {
            let (name, line) = self.names.get(event.event).map_or(("", 0), |(name, line)| (name.as_str(), *line));
            let at: Vec<String> = event.at.iter().map(i64::to_string).collect();
            let head = [shortest(instant.t), event.round.to_string(), name.to_owned(), line.to_string(), at.join(" ")];
            if event.changes.is_empty() {
                self.line(&head, &["", "", ""].map(str::to_owned));
            }
            for (name, before, after) in &event.changes {
                self.line(&head, &[name.clone(), shortest(*before), shortest(*after)]);
            }
        }
    }

    fn line(&mut self, head: &[String], tail: &[String; 3]) {
        if self.trouble.is_none() {
            self.trouble = self.rows.fields(head.iter().chain(tail)).err();
        }
    }

    /// Writes the remaining lines.
    ///
    /// # Errors
    /// The log cannot be written.
    pub fn finish(mut self) -> Result<(), RowsError> {
        match self.trouble.take() {
            Some(trouble) => Err(trouble),
            None => self.rows.flush(),
        }
    }
}
