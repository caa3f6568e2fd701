//! FlatBuffers, the encoding of the metadata in Arrow files: tables of numbered fields. A table precedes the values
//! that its fields refer to. Source: "FlatBuffer Internals" of the documentation of FlatBuffers.

/// A field of a table.
pub enum Field {
    /// One byte, also for the type of a union and for booleans.
    Byte(u8),
    /// A 16-bit integer.
    Short(i16),
    /// A 32-bit integer.
    Int(i32),
    /// A 64-bit integer.
    Long(i64),
    /// A reference to a value.
    To(Value),
}

/// A value that fields refer to.
pub enum Value {
    /// Pairs of field number and value.
    Table(Vec<(usize, Field)>),
    /// Text in UTF-8.
    Text(String),
    /// A list of references.
    List(Vec<Value>),
    /// Structs of 64-bit integers, one after the other: their number, then their bytes.
    Structs(usize, Vec<u8>),
}

/// A field that is a table.
pub fn table(fields: Vec<(usize, Field)>) -> Field {
    Field::To(Value::Table(fields))
}

/// A buffer whose root is a table with these fields; its length is a multiple of eight.
pub fn buffer(fields: Vec<(usize, Field)>) -> Vec<u8> {
    let mut out = vec![0; 4];
    let root = write(&mut out, &Value::Table(fields));
    refer(&mut out, 0, root);
    pad(&mut out, 8, 0);
    out
}

/// Adds zeros until `after` more bytes end at a multiple of `size`.
fn pad(out: &mut Vec<u8>, size: usize, after: usize) {
    while !(out.len() + after).is_multiple_of(size) {
        out.push(0);
    }
}

/// Makes the four bytes at `from` refer to the position `to`.
fn refer(out: &mut [u8], from: usize, to: usize) {
    out[from..from + 4].copy_from_slice(&((to - from) as u32).to_le_bytes());
}

/// Writes a value; returns its position.
fn write(out: &mut Vec<u8>, value: &Value) -> usize {
    match value {
        Value::Table(fields) => write_table(out, fields),
        Value::Text(text) => {
            let at = count(out, text.len(), 4);
            out.extend_from_slice(text.as_bytes());
            out.push(0);
            at
        }
        Value::List(values) => {
            let at = count(out, values.len(), 4);
            let first = out.len();
            out.resize(first + 4 * values.len(), 0);
            for (k, value) in values.iter().enumerate() {
                let to = write(out, value);
                refer(out, first + 4 * k, to);
            }
            at
        }
        Value::Structs(number, bytes) => {
            let at = count(out, *number, 8);
            out.extend_from_slice(bytes);
            at
        }
    }
}

/// Writes the length of a vector, so that its elements start at a multiple of `size`.
fn count(out: &mut Vec<u8>, number: usize, size: usize) -> usize {
    pad(out, size, 4);
    out.extend((number as u32).to_le_bytes());
    out.len() - 4
}

/// Writes the vtable, then the fields, then the values that they refer to.
fn write_table(out: &mut Vec<u8>, fields: &[(usize, Field)]) -> usize {
    let numbers = fields.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
    let places = 4 + 2 * numbers;
    // 64-bit fields come first, after the four bytes that refer to the vtable
    let size = |field: &Field| match field {
        Field::Byte(_) => 1,
        Field::Short(_) => 2,
        Field::Int(_) | Field::To(_) => 4,
        Field::Long(_) => 8,
    };
    let mut order: Vec<&(usize, Field)> = fields.iter().collect();
    order.sort_by_key(|(_, field)| std::cmp::Reverse(size(field)));
    pad(out, 8, places + 4);
    let start = out.len();
    let at = start + places;
    out.resize(at, 0);
    out.extend((places as i32).to_le_bytes());
    let mut later = vec![];
    for (number, field) in order {
        let here = out.len();
        let place = 4 + 2 * number;
        out[start + place..start + place + 2].copy_from_slice(&((here - at) as u16).to_le_bytes());
        match field {
            Field::Byte(v) => out.push(*v),
            Field::Short(v) => out.extend(v.to_le_bytes()),
            Field::Int(v) => out.extend(v.to_le_bytes()),
            Field::Long(v) => out.extend(v.to_le_bytes()),
            Field::To(value) => {
                out.extend([0; 4]);
                later.push((here, value));
            }
        }
    }
    let length = (out.len() - at) as u16;
    out[start..start + 2].copy_from_slice(&(places as u16).to_le_bytes());
    out[start + 2..start + 4].copy_from_slice(&length.to_le_bytes());
    for (from, value) in later {
        let to = write(out, value);
        refer(out, from, to);
    }
    at
}
