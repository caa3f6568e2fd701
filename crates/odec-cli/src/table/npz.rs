//! NumPy files with an array for each column: an uncompressed ZIP archive of `.npy` files. Rows are collected in a
//! temporary file, column by column in blocks, so that memory does not grow with their number.
//! Sources: the documentation of `numpy.lib.format`; APPNOTE of PKWARE, version 6.3.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use flate2::Crc;
use odec_lang::diagnostic::{Diagnostic, codes};

use super::{Column, Kind, Meta, Written};
use crate::input::error;
use crate::whole::{Draft, not_written};

/// Number of buffered bytes of a block.
const BLOCK_BYTES: usize = 16 << 20;
/// Largest number of bytes and entries of a ZIP archive without extensions.
const MAX_BYTES: u64 = u32::MAX as u64;
const MAX_ENTRIES: usize = u16::MAX as usize;
/// The version of the format: 2.0, with names in UTF-8.
const VERSION: u16 = 20;
const UTF8: u16 = 1 << 11;
/// 1 January 1980, the earliest date in ZIP: equal rows give equal bytes.
const DATE: u16 = 1 << 5 | 1;

/// A file under construction.
pub struct Npz {
    columns: Vec<Column>,
    /// Number of rows of a block.
    most: usize,
    waiting: Vec<f64>,
    /// The path of the archive.
    path: PathBuf,
    spool: File,
    /// Number of rows of each block of the spool.
    blocks: Vec<usize>,
}

impl Npz {
    pub fn begin(columns: Vec<Column>, draft: &Draft) -> Written<Npz> {
        if columns.len() >= MAX_ENTRIES {
            let headline = format!("an npz file can contain {MAX_ENTRIES} arrays, but there are {}", columns.len());
            return Err(too_large(headline));
        }
        let spool = draft.spool()?;
        let most = (BLOCK_BYTES / (8 * columns.len().max(1))).max(1);
        Ok(Npz { columns, most, waiting: vec![], path: draft.path().to_path_buf(), spool, blocks: vec![] })
    }

    pub fn row(&mut self, values: &[f64]) -> Written<()> {
        self.waiting.extend_from_slice(values);
        if self.waiting.len() < self.most * self.columns.len() { Ok(()) } else { self.block() }
    }

    /// Writes the buffered rows to the spool, column by column.
    fn block(&mut self) -> Written<()> {
        let width = self.columns.len();
        let rows = self.waiting.len() / width;
        if rows == 0 {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(8 * self.waiting.len());
        for k in 0..width {
            bytes.extend(self.waiting.iter().skip(k).step_by(width).flat_map(|v| v.to_le_bytes()));
        }
        self.spool.write_all(&bytes).map_err(|e| not_written(&self.path, &e))?;
        self.blocks.push(rows);
        self.waiting.clear();
        Ok(())
    }

    /// Passes the values of a column to `take`, block by block, in the form of its file.
    fn each(&mut self, column: usize, mut take: impl FnMut(&[u8]) -> Written<()>) -> Written<()> {
        let (width, kind) = (self.columns.len(), self.columns[column].kind);
        let mut before = 0;
        for rows in &self.blocks {
            let mut bytes = vec![0; 8 * rows];
            let place = 8 * (before * width + column * rows);
            let read = self.spool.seek(SeekFrom::Start(place as u64)).and_then(|_| self.spool.read_exact(&mut bytes));
            read.map_err(|e| not_written(&self.path, &e))?;
            take(&converted(kind, bytes))?;
            before += rows;
        }
        Ok(())
    }

    /// Writes the archive: an array for each column, and the metadata as `odec.json`.
    pub fn finish(&mut self, meta: &Meta, draft: &mut Draft) -> Written<()> {
        self.block()?;
        let rows: usize = self.blocks.iter().sum();
        let mut entries = vec![];
        for k in 0..self.columns.len() {
            let head = head(self.columns[k].kind, rows);
            let mut crc = Crc::new();
            crc.update(&head);
            let mut size = head.len() as u64;
            self.each(k, |bytes| {
                crc.update(bytes);
                size += bytes.len() as u64;
                Ok(())
            })?;
            let entry = Entry::new(format!("{}.npy", self.columns[k].name), &crc, size, draft.written())?;
            draft.write(&entry.local())?;
            draft.write(&head)?;
            self.each(k, |bytes| draft.write(bytes))?;
            entries.push(entry);
        }
        let said: serde_json::Map<String, serde_json::Value> =
            meta.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
        let said = serde_json::Value::from(said).to_string();
        let mut crc = Crc::new();
        crc.update(said.as_bytes());
        let entry = Entry::new("odec.json".to_string(), &crc, said.len() as u64, draft.written())?;
        draft.write(&entry.local())?;
        draft.write(said.as_bytes())?;
        entries.push(entry);
        let begins = draft.written();
        for entry in &entries {
            draft.write(&entry.central())?;
        }
        let size = draft.written() - begins;
        if draft.written() > MAX_BYTES {
            return Err(too_long());
        }
        let count = entries.len() as u16;
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend([count, count].iter().flat_map(|v| v.to_le_bytes()));
        end.extend([size as u32, begins as u32].iter().flat_map(|v| v.to_le_bytes()));
        end.extend(0u16.to_le_bytes());
        draft.write(&end)
    }
}

/// A file of the archive.
struct Entry {
    name: String,
    crc: u32,
    size: u32,
    at: u32,
}

impl Entry {
    fn new(name: String, crc: &Crc, size: u64, at: u64) -> Written<Entry> {
        if at + size > MAX_BYTES {
            return Err(too_long());
        }
        Ok(Entry { name, crc: crc.sum(), size: size as u32, at: at as u32 })
    }

    /// The fields from the required version to the length of the name.
    fn described(&self) -> Vec<u8> {
        let mut out = vec![];
        out.extend([VERSION, UTF8, 0, 0, DATE].iter().flat_map(|v| v.to_le_bytes()));
        out.extend([self.crc, self.size, self.size].iter().flat_map(|v| v.to_le_bytes()));
        out.extend([self.name.len() as u16, 0].iter().flat_map(|v| v.to_le_bytes()));
        out
    }

    /// The local header of the file.
    fn local(&self) -> Vec<u8> {
        [b"PK\x03\x04", self.described().as_slice(), self.name.as_bytes()].concat()
    }

    /// The entry of the central directory.
    fn central(&self) -> Vec<u8> {
        let made = VERSION.to_le_bytes();
        let place = self.at.to_le_bytes();
        // no comment, first disk, no attributes
        [b"PK\x01\x02", &made[..], &self.described(), &[0; 10], &place, self.name.as_bytes()].concat()
    }
}

fn too_large(headline: String) -> Box<Diagnostic> {
    let help = "write a Parquet file, `-o rows.parquet`, or record fewer quantities".to_string();
    Box::new(error(&codes::E0851, headline, Some(help)))
}

fn too_long() -> Box<Diagnostic> {
    too_large(format!("an npz file can contain {} GB, but these rows need more", MAX_BYTES >> 30))
}

/// The header of a `.npy` file, version 1.0.
fn head(kind: Kind, rows: usize) -> Vec<u8> {
    let word = match kind {
        Kind::Number => "<f8",
        Kind::Whole => "<i8",
        Kind::Flag => "|b1",
    };
    let mut text = format!("{{'descr': '{word}', 'fortran_order': False, 'shape': ({rows},), }}");
    // the numbers start at a multiple of 64
    while !(text.len() + 11).is_multiple_of(64) {
        text.push(' ');
    }
    text.push('\n');
    let mut head = b"\x93NUMPY\x01\x00".to_vec();
    head.extend((text.len() as u16).to_le_bytes());
    head.extend(text.as_bytes());
    head
}

/// Converts the bytes of doubles to those of a kind.
fn converted(kind: Kind, bytes: Vec<u8>) -> Vec<u8> {
    if kind == Kind::Number {
        return bytes;
    }
    let values = bytes.chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap_or_default()));
    match kind {
        Kind::Flag => values.map(|v| u8::from(v != 0.0)).collect(),
        _ => values.flat_map(|v| (v as i64).to_le_bytes()).collect(),
    }
}
