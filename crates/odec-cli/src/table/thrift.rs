//! The compact protocol of Thrift, the encoding of the metadata in Parquet files: structs of numbered fields. Source:
//! the specification "Thrift Compact protocol encoding" of Apache Thrift.

/// Type codes of fields and of list elements.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// The bytes written so far.
pub struct Thrift {
    out: Vec<u8>,
    /// Number of the last field of each open struct.
    last: Vec<u8>,
}

impl Thrift {
    /// Opens a struct.
    pub fn new() -> Thrift {
        Thrift { out: vec![], last: vec![0] }
    }

    /// Ends the struct.
    pub fn finish(mut self) -> Vec<u8> {
        self.out.push(0);
        self.out
    }

    fn varint(&mut self, mut v: u64) {
        while v >= 0x80 {
            self.out.push(v as u8 | 0x80);
            v >>= 7;
        }
        self.out.push(v as u8);
    }

    fn zigzag(&mut self, v: i64) {
        self.varint(((v << 1) ^ (v >> 63)) as u64);
    }

    fn field(&mut self, id: u8, kind: u8) {
        let last = self.last.last_mut().map_or(0, |last| std::mem::replace(last, id));
        // field numbers grow by less than 16 in all structs of Parquet
        self.out.push((id - last) << 4 | kind);
    }

    fn bytes(&mut self, text: &[u8]) {
        self.varint(text.len() as u64);
        self.out.extend_from_slice(text);
    }

    /// Writes a 32-bit integer field.
    pub fn i32(&mut self, id: u8, v: i32) {
        self.field(id, I32);
        self.zigzag(i64::from(v));
    }

    /// Writes a 64-bit integer field.
    pub fn i64(&mut self, id: u8, v: i64) {
        self.field(id, I64);
        self.zigzag(v);
    }

    /// Writes a text field.
    pub fn text(&mut self, id: u8, text: &str) {
        self.field(id, BINARY);
        self.bytes(text.as_bytes());
    }

    fn list(&mut self, id: u8, kind: u8, count: usize) {
        self.field(id, LIST);
        if count < 15 {
            self.out.push((count as u8) << 4 | kind);
        } else {
            self.out.push(0xf0 | kind);
            self.varint(count as u64);
        }
    }

    /// Writes a field with a list of 32-bit integers.
    pub fn i32s(&mut self, id: u8, list: &[i32]) {
        self.list(id, I32, list.len());
        for v in list {
            self.zigzag(i64::from(*v));
        }
    }

    /// Writes a field with a list of texts.
    pub fn texts(&mut self, id: u8, list: &[&str]) {
        self.list(id, BINARY, list.len());
        for text in list {
            self.bytes(text.as_bytes());
        }
    }

    /// Writes a struct field.
    pub fn inner(&mut self, id: u8, write: impl FnOnce(&mut Thrift)) {
        self.field(id, STRUCT);
        self.element(write);
    }

    /// Writes the start of a list of structs; [`Thrift::element`] or [`Thrift::whole`] writes each struct.
    pub fn structs(&mut self, id: u8, count: usize) {
        self.list(id, STRUCT, count);
    }

    /// Writes a struct of a list.
    pub fn element(&mut self, write: impl FnOnce(&mut Thrift)) {
        self.last.push(0);
        write(self);
        self.last.pop();
        self.out.push(0);
    }

    /// Writes structs of a list that were encoded elsewhere.
    pub fn whole(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
    }
}
