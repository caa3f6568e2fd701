//! The columns of the rows: elements of arrays, without a stored name for each.

use std::collections::BTreeMap;
use std::sync::Arc;

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_ode::problem::Samples;

use crate::blame::{misnamed, unknown_name};
use crate::error;
use crate::quantities::{Chosen, Quantities, Quantity};

/// Largest number of columns.
pub const MAX_COLUMNS: usize = 1 << 20;
/// Largest total number of values in all rows, if the number of rows is known beforehand (about 40 GB as text). Rows
/// are written as the run makes them; a caller that stores them checks [`crate::memory::MemoryEstimate`].
pub const MAX_VALUES: usize = 2_000_000_000;

/// The position of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// The independent variable.
    Time,
    /// Index in y.
    State(usize),
    /// Index in the outputs buffer.
    Output(usize),
}

/// The buffer that holds a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Buffer {
    Time,
    State,
    Output,
}

/// Adjacent columns of one buffer.
#[derive(Clone, Debug)]
struct Piece {
    buffer: Buffer,
    /// Index of the array.
    quantity: usize,
    /// The first element that is a column.
    element: usize,
    /// Index of this element in the buffer.
    place: usize,
    len: usize,
    /// Number of columns before the piece.
    before: usize,
}

/// The columns of a run; the independent variable is the first.
#[derive(Clone, Debug)]
pub struct Columns {
    time: String,
    states: Quantities,
    outputs: Quantities,
    pieces: Vec<Piece>,
    len: usize,
    titles: Titles,
}

/// Titles of columns whose quantities have other names in the source of the model: `[S]` for `S_conc`.
pub type Titles = Arc<BTreeMap<String, String>>;

impl Columns {
    /// Only the independent variable.
    pub fn new(time: &str, states: Quantities, outputs: Quantities) -> Columns {
        let piece = Piece { buffer: Buffer::Time, quantity: 0, element: 0, place: 0, len: 1, before: 0 };
        Columns { time: time.to_string(), states, outputs, pieces: vec![piece], len: 1, titles: Titles::default() }
    }

    fn push(&mut self, buffer: Buffer, quantity: usize, elements: std::ops::Range<usize>) {
        let quantities = if buffer == Buffer::State { &self.states } else { &self.outputs };
        let place = quantities.list()[quantity].start + elements.start;
        let (element, len, before) = (elements.start, elements.len(), self.len);
        if len > 0 {
            self.pieces.push(Piece { buffer, quantity, element, place, len, before });
            self.len += len;
        }
    }

    /// Adds all states.
    pub fn add_states(&mut self) {
        for k in 0..self.states.list().len() {
            self.push(Buffer::State, k, 0..self.states.list()[k].len);
        }
    }

    /// Adds the outputs; outputs that are also states only if `again`.
    pub fn add_outputs(&mut self, again: bool) {
        for k in 0..self.outputs.list().len() {
            let output = &self.outputs.list()[k];
            if again || !self.states.names().any(|n| n == output.name) {
                self.push(Buffer::Output, k, 0..output.len);
            }
        }
    }

    /// Adds the columns that a text names: a state, an output, a whole array, or some elements of an array.
    ///
    /// # Errors
    /// E0706; `flag` is the origin of the text.
    pub fn add(&mut self, text: &str, flag: &str) -> Result<(), Diagnostic> {
        if text == self.time {
            return Ok(());
        }
        let (buffer, chosen) = self.named(text, flag)?;
        for c in chosen {
            for run in c.runs {
                self.push(buffer, c.quantity, run);
            }
        }
        Ok(())
    }

    fn named(&self, text: &str, flag: &str) -> Result<(Buffer, Vec<Chosen>), Diagnostic> {
        // `[S]` is the title of the concentration of an imported species
        let species = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).map(|name| format!("{name}_conc"));
        let titled = species.filter(|name| self.states.names().chain(self.outputs.names()).any(|known| known == name));
        for (buffer, list) in [(Buffer::State, &self.states), (Buffer::Output, &self.outputs)] {
            let chosen = list.select(text).map_err(|why| match &titled {
                Some(name) => misnamed(text, flag, &why).help(format!("write `{name}`")),
                None => misnamed(text, flag, &why),
            })?;
            if !chosen.is_empty() {
                return Ok((buffer, chosen));
            }
        }
        let known: Vec<&str> = self.states.names().chain(self.outputs.names()).collect();
        Err(unknown_name(text, flag, &known))
    }

    /// Number of columns.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no column; the independent variable is always one.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    fn piece(&self, k: usize) -> Option<&Piece> {
        let after = self.pieces.partition_point(|p| p.before <= k);
        self.pieces.get(after.checked_sub(1)?).filter(|p| k < p.before + p.len)
    }

    fn quantity_of(&self, piece: &Piece) -> Option<&Quantity> {
        match piece.buffer {
            Buffer::Time => None,
            Buffer::State => self.states.list().get(piece.quantity),
            Buffer::Output => self.outputs.list().get(piece.quantity),
        }
    }

    /// The array of a column and its element; `None` for the independent variable.
    pub fn quantity(&self, k: usize) -> Option<(&Quantity, usize)> {
        let piece = self.piece(k)?;
        Some((self.quantity_of(piece)?, piece.element + k - piece.before))
    }

    /// The name of a column.
    pub fn name(&self, k: usize) -> String {
        let name = self.quantity(k).map_or_else(|| self.time.clone(), |(quantity, element)| quantity.element(element));
        self.titles.get(&name).cloned().unwrap_or(name)
    }

    /// The same columns, with these titles as names.
    pub fn titled(self, titles: Titles) -> Columns {
        Columns { titles, ..self }
    }

    /// The names, one at a time.
    pub fn names(&self) -> impl Iterator<Item = String> + '_ {
        (0..self.len).map(|k| self.name(k))
    }

    /// The position of a column.
    pub fn at(&self, k: usize) -> Option<Column> {
        let piece = self.piece(k)?;
        let place = piece.place + k - piece.before;
        Some(match piece.buffer {
            Buffer::Time => Column::Time,
            Buffer::State => Column::State(place),
            Buffer::Output => Column::Output(place),
        })
    }

    /// True if a column is an output.
    pub fn has_outputs(&self) -> bool {
        self.pieces.iter().any(|p| p.buffer == Buffer::Output)
    }

    /// The columns that a text names, in their order.
    ///
    /// # Errors
    /// E0706, also for names that are not in the rows.
    pub fn find(&self, text: &str, flag: &str) -> Result<Vec<usize>, Diagnostic> {
        if text == self.time {
            return Ok(vec![0]);
        }
        let (buffer, chosen) = self.named(text, flag)?;
        let mut found = vec![];
        for c in &chosen {
            for element in c.runs.iter().cloned().flatten() {
                let has = |p: &&Piece| {
                    p.buffer == buffer && p.quantity == c.quantity && (p.element..p.element + p.len).contains(&element)
                };
                found.extend(self.pieces.iter().find(has).map(|p| p.before + element - p.element));
            }
        }
        if found.is_empty() {
            let known: Vec<String> = self
                .pieces
                .iter()
                .map(|p| match self.quantity_of(p) {
                    Some(quantity) if quantity.len == p.len => quantity.name.clone(),
                    _ => self.name(p.before),
                })
                .collect();
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            return Err(unknown_name(text, flag, &known));
        }
        Ok(found)
    }

    /// Fills a row with one value for each column.
    pub fn fill(&self, t: f64, y: &[f64], outputs: &[f64], row: &mut [f64]) {
        for p in &self.pieces {
            let values = &mut row[p.before..p.before + p.len];
            match p.buffer {
                Buffer::Time => values[0] = t,
                Buffer::State => values.copy_from_slice(&y[p.place..p.place + p.len]),
                Buffer::Output => values.copy_from_slice(&outputs[p.place..p.place + p.len]),
            }
        }
    }
}

/// Refuses rows with too many columns or values.
pub(crate) fn check_columns(columns: &Columns, samples: &Samples) -> Result<(), Diagnostic> {
    let rows = samples.count().unwrap_or(1) as usize;
    let (k, some) = (columns.len(), columns.name(1));
    let headline = if k > MAX_COLUMNS {
        format!("a row would have {k} columns; the limit is {MAX_COLUMNS}")
    } else if k.saturating_mul(rows) > MAX_VALUES {
        format!("{rows} rows of {k} columns exceed the limit of {MAX_VALUES} values")
    } else {
        return Ok(());
    };
    let help =
        format!("choose the columns, `--record outputs` or `--record '{some}'`, or write fewer rows: `--samples 10`");
    Err(error(&codes::E0713, headline, None, Some(help)))
}
