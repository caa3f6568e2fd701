//! Parquet files of numbers: row groups of constant size, whose columns are byte-stream split and compressed by gzip.
//! Source: the specification of Apache Parquet (`parquet.thrift`, `Encodings.md`).

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::thrift::Thrift;
use super::{Column, Kind, Meta, Written};
use crate::whole::Draft;

const MAGIC: &[u8] = b"PAR1";
/// Number of buffered bytes of a row group.
const GROUP_BYTES: usize = 16 << 20;

/// Numeric values of the enumerations of `parquet.thrift`.
mod numbers {
    pub const BOOLEAN: i32 = 0;
    pub const INT64: i32 = 2;
    pub const DOUBLE: i32 = 5;
    pub const REQUIRED: i32 = 0;
    pub const PLAIN: i32 = 0;
    pub const RLE: i32 = 3;
    pub const BYTE_STREAM_SPLIT: i32 = 9;
    pub const GZIP: i32 = 2;
    pub const DATA_PAGE: i32 = 0;
}

/// A file under construction.
pub struct Parquet {
    columns: Vec<Column>,
    /// Number of rows of a group.
    most: usize,
    /// The buffered rows, consecutively.
    waiting: Vec<f64>,
    rows: u64,
    groups: usize,
    /// The description of the groups in the footer of the file.
    described: Vec<u8>,
}

/// The position of a column chunk.
struct Chunk {
    at: u64,
    plain: i64,
    packed: i64,
}

impl Parquet {
    pub fn begin(columns: Vec<Column>, draft: &mut Draft) -> Written<Parquet> {
        draft.write(MAGIC)?;
        let most = (GROUP_BYTES / (8 * columns.len().max(1))).max(1);
        Ok(Parquet { columns, most, waiting: vec![], rows: 0, groups: 0, described: vec![] })
    }

    pub fn row(&mut self, values: &[f64], draft: &mut Draft) -> Written<()> {
        self.waiting.extend_from_slice(values);
        if self.waiting.len() < self.most * self.columns.len() { Ok(()) } else { self.group(draft) }
    }

    /// Writes the buffered rows as a group.
    fn group(&mut self, draft: &mut Draft) -> Written<()> {
        let rows = self.waiting.len() / self.columns.len();
        if rows == 0 {
            return Ok(());
        }
        let mut chunks = vec![];
        for (k, column) in self.columns.iter().enumerate() {
            let values = self.waiting.iter().skip(k).step_by(self.columns.len());
            let plain = encoded(column.kind, values.copied(), rows);
            let packed = gzip(&plain);
            let head = page(column.kind, rows, plain.len(), packed.len());
            let at = draft.written();
            draft.write(&head)?;
            draft.write(&packed)?;
            chunks.push(Chunk {
                at,
                plain: (head.len() + plain.len()) as i64,
                packed: (head.len() + packed.len()) as i64,
            });
        }
        let described = self.described_group(&chunks, rows);
        self.described.extend(described);
        self.rows += rows as u64;
        self.groups += 1;
        self.waiting.clear();
        Ok(())
    }

    /// The struct `RowGroup`.
    fn described_group(&self, chunks: &[Chunk], rows: usize) -> Vec<u8> {
        let mut group = Thrift::new();
        group.structs(1, chunks.len());
        for (column, chunk) in self.columns.iter().zip(chunks) {
            group.element(|one| {
                one.i64(2, chunk.at as i64);
                one.inner(3, |meta| {
                    meta.i32(1, physical(column.kind));
                    meta.i32s(2, &[encoding(column.kind)]);
                    meta.texts(3, &[&column.name]);
                    meta.i32(4, numbers::GZIP);
                    meta.i64(5, rows as i64);
                    meta.i64(6, chunk.plain);
                    meta.i64(7, chunk.packed);
                    meta.i64(9, chunk.at as i64);
                });
            });
        }
        group.i64(2, chunks.iter().map(|chunk| chunk.plain).sum());
        group.i64(3, rows as i64);
        group.finish()
    }

    /// Writes the buffered rows and the footer: the struct `FileMetaData`.
    pub fn finish(&mut self, meta: &Meta, draft: &mut Draft) -> Written<()> {
        self.group(draft)?;
        let mut foot = Thrift::new();
        foot.i32(1, 1);
        foot.structs(2, 1 + self.columns.len());
        foot.element(|root| {
            root.text(4, "rows");
            root.i32(5, self.columns.len() as i32);
        });
        for column in &self.columns {
            foot.element(|one| {
                one.i32(1, physical(column.kind));
                one.i32(3, numbers::REQUIRED);
                one.text(4, &column.name);
            });
        }
        foot.i64(3, self.rows as i64);
        foot.structs(4, self.groups);
        foot.whole(&self.described);
        foot.structs(5, meta.len());
        for (key, value) in meta {
            foot.element(|pair| {
                pair.text(1, key);
                pair.text(2, value);
            });
        }
        foot.text(6, concat!("odec version ", env!("CARGO_PKG_VERSION")));
        let foot = foot.finish();
        draft.write(&foot)?;
        draft.write(&(foot.len() as u32).to_le_bytes())?;
        draft.write(MAGIC)
    }
}

fn physical(kind: Kind) -> i32 {
    match kind {
        Kind::Number => numbers::DOUBLE,
        Kind::Whole => numbers::INT64,
        Kind::Flag => numbers::BOOLEAN,
    }
}

fn encoding(kind: Kind) -> i32 {
    if kind == Kind::Number { numbers::BYTE_STREAM_SPLIT } else { numbers::PLAIN }
}

/// The values of a column of a group. The bytes of doubles are split: the lowest bytes of all of them first, the
/// highest last.
fn encoded(kind: Kind, values: impl Iterator<Item = f64>, rows: usize) -> Vec<u8> {
    match kind {
        Kind::Number => {
            let mut out = vec![0; 8 * rows];
            for (row, value) in values.enumerate() {
                for (k, byte) in value.to_le_bytes().into_iter().enumerate() {
                    out[k * rows + row] = byte;
                }
            }
            out
        }
        Kind::Whole => values.flat_map(|value| (value as i64).to_le_bytes()).collect(),
        Kind::Flag => {
            let mut out = vec![0; rows.div_ceil(8)];
            for (row, value) in values.enumerate() {
                out[row / 8] |= u8::from(value != 0.0) << (row % 8);
            }
            out
        }
    }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut packer = GzEncoder::new(vec![], Compression::fast());
    // writing to a vector cannot fail
    let _ = packer.write_all(bytes);
    packer.finish().unwrap_or_default()
}

/// The struct `PageHeader` of the only page of a column of a group.
fn page(kind: Kind, rows: usize, plain: usize, packed: usize) -> Vec<u8> {
    let mut page = Thrift::new();
    page.i32(1, numbers::DATA_PAGE);
    page.i32(2, plain as i32);
    page.i32(3, packed as i32);
    page.inner(5, |data| {
        data.i32(1, rows as i32);
        data.i32(2, encoding(kind));
        data.i32(3, numbers::RLE);
        data.i32(4, numbers::RLE);
    });
    page.finish()
}
