//! Arrow files (the IPC file format, also named Feather): record batches of constant size without compression, so that
//! readers map them into memory. Source: "Arrow Columnar Format" and `Schema.fbs`, `Message.fbs`, `File.fbs`.

use super::flat::{Field, Value, buffer, table};
use super::{Column, Kind, Meta, Written};
use crate::whole::Draft;

const MAGIC: &[u8] = b"ARROW1";
/// Number of buffered bytes of a batch.
const BATCH_BYTES: usize = 16 << 20;
/// Buffers begin at a multiple of this, as the format recommends.
const ALIGNED: usize = 64;

/// Numeric values of the enumerations and unions of the format.
mod numbers {
    pub const VERSION: i16 = 4;
    pub const SCHEMA: u8 = 1;
    pub const RECORD_BATCH: u8 = 3;
    pub const INT: u8 = 2;
    pub const FLOATING_POINT: u8 = 3;
    pub const BOOL: u8 = 6;
    pub const DOUBLE: i16 = 2;
}

/// A file under construction.
pub struct Arrow {
    columns: Vec<Column>,
    meta: Meta,
    /// Number of rows of a batch.
    most: usize,
    /// The buffered rows, consecutively.
    waiting: Vec<f64>,
    /// Position and sizes of each batch, in the form of the footer.
    blocks: Vec<u8>,
    batches: usize,
}

impl Arrow {
    pub fn begin(columns: Vec<Column>, meta: Meta, draft: &mut Draft) -> Written<Arrow> {
        let most = (BATCH_BYTES / (8 * columns.len().max(1))).max(1);
        let file = Arrow { columns, meta, most, waiting: vec![], blocks: vec![], batches: 0 };
        draft.write(MAGIC)?;
        draft.write(&[0, 0])?;
        draft.write(&message(numbers::SCHEMA, file.schema(), 0, draft.written()))?;
        Ok(file)
    }

    pub fn row(&mut self, values: &[f64], draft: &mut Draft) -> Written<()> {
        self.waiting.extend_from_slice(values);
        if self.waiting.len() < self.most * self.columns.len() { Ok(()) } else { self.batch(draft) }
    }

    /// The table `Schema`.
    fn schema(&self) -> Vec<(usize, Field)> {
        let of = |column: &Column| {
            let (kind, description) = match column.kind {
                Kind::Number => (numbers::FLOATING_POINT, vec![(0, Field::Short(numbers::DOUBLE))]),
                Kind::Whole => (numbers::INT, vec![(0, Field::Int(64)), (1, Field::Byte(1))]),
                Kind::Flag => (numbers::BOOL, vec![]),
            };
            let name = Field::To(Value::Text(column.name.clone()));
            let children = Field::To(Value::List(vec![]));
            Value::Table(vec![(0, name), (2, Field::Byte(kind)), (3, table(description)), (5, children)])
        };
        let pair = |(key, value): &(String, String)| {
            let text = |text: &String| Field::To(Value::Text(text.clone()));
            Value::Table(vec![(0, text(key)), (1, text(value))])
        };
        let fields = Value::List(self.columns.iter().map(of).collect());
        vec![(1, Field::To(fields)), (2, Field::To(Value::List(self.meta.iter().map(pair).collect())))]
    }

    /// Writes the buffered rows as a batch.
    fn batch(&mut self, draft: &mut Draft) -> Written<()> {
        let width = self.columns.len();
        let rows = self.waiting.len() / width.max(1);
        if rows == 0 {
            return Ok(());
        }
        let (mut body, mut nodes, mut buffers) = (vec![], vec![], vec![]);
        for (k, column) in self.columns.iter().enumerate() {
            nodes.extend([rows as i64, 0].iter().flat_map(|v| v.to_le_bytes()));
            let from = body.len();
            encode(column.kind, self.waiting.iter().skip(k).step_by(width).copied(), rows, &mut body);
            let length = body.len() - from;
            // no value is missing, so the first buffer, the validity bitmap, is empty
            let places = [from as i64, 0, from as i64, length as i64];
            buffers.extend(places.iter().flat_map(|v| v.to_le_bytes()));
            body.resize(body.len().next_multiple_of(ALIGNED), 0);
        }
        let batch = vec![
            (0, Field::Long(rows as i64)),
            (1, Field::To(Value::Structs(width, nodes))),
            (2, Field::To(Value::Structs(2 * width, buffers))),
        ];
        let at = draft.written();
        let head = message(numbers::RECORD_BATCH, batch, body.len(), at);
        draft.write(&head)?;
        draft.write(&body)?;
        self.blocks.extend((at as i64).to_le_bytes());
        self.blocks.extend((head.len() as i64).to_le_bytes());
        self.blocks.extend((body.len() as i64).to_le_bytes());
        self.batches += 1;
        self.waiting.clear();
        Ok(())
    }

    /// Writes the buffered rows, the end of the stream, and the table `Footer`.
    pub fn finish(&mut self, draft: &mut Draft) -> Written<()> {
        self.batch(draft)?;
        draft.write(&[0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0])?;
        let foot = buffer(vec![
            (0, Field::Short(numbers::VERSION)),
            (1, table(self.schema())),
            (2, Field::To(Value::Structs(0, vec![]))),
            (3, Field::To(Value::Structs(self.batches, std::mem::take(&mut self.blocks)))),
        ]);
        draft.write(&foot)?;
        draft.write(&(foot.len() as u32).to_le_bytes())?;
        draft.write(MAGIC)
    }
}

/// A message before `body` bytes at a position of the file: its marker, its length, the table `Message`, and zeros
/// for the alignment of the body.
fn message(kind: u8, header: Vec<(usize, Field)>, body: usize, at: u64) -> Vec<u8> {
    let mut table = buffer(vec![
        (0, Field::Short(numbers::VERSION)),
        (1, Field::Byte(kind)),
        (2, table(header)),
        (3, Field::Long(body as i64)),
    ]);
    let before = 8 + at as usize;
    table.resize((before + table.len()).next_multiple_of(ALIGNED) - before, 0);
    let mut out = vec![0xff; 4];
    out.extend((table.len() as u32).to_le_bytes());
    out.extend(table);
    out
}

/// Adds the values of a column to the body of a batch.
fn encode(kind: Kind, values: impl Iterator<Item = f64>, rows: usize, body: &mut Vec<u8>) {
    match kind {
        Kind::Number => body.extend(values.flat_map(f64::to_le_bytes)),
        Kind::Whole => body.extend(values.flat_map(|value| (value as i64).to_le_bytes())),
        Kind::Flag => {
            let first = body.len();
            body.resize(first + rows.div_ceil(8), 0);
            for (row, value) in values.enumerate() {
                body[first + row / 8] |= u8::from(value != 0.0) << (row % 8);
            }
        }
    }
}
