//! Encodes the few instructions that lanes of AVX need.

use super::avx::Numbers;

/// Bit pattern of a double's sign, and of all else.
pub(super) const SIGN: u64 = 1 << 63;
pub(super) const MASK_OF_SIZE: u64 = !SIGN;

/// Register that holds the address of the frame.
const FRAME: u8 = 4;
/// Bytes that the system promises to guard below the stack: a larger frame is touched in such steps.
const PAGE: i32 = 4096;
/// Alignment of frame and numbers.
const ALIGNMENT: usize = 32;

/// The second operand of an instruction, or where it stores.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// A vector register.
    Register(u8),
    /// So many bytes into the frame.
    Frame(i32),
    /// So many bytes behind the address in a register.
    At(u8, i32),
    /// The number with this index, in every lane.
    Number(usize),
}

/// An instruction by its encoding: prefix, map and number of the operation, and the bits W and L.
#[derive(Clone, Copy)]
pub(super) struct Instruction {
    prefix: u8,
    map: u8,
    code: u8,
    wide: bool,
    long: bool,
}

const fn packed(code: u8) -> Instruction {
    Instruction { prefix: 1, map: 1, code, wide: false, long: true }
}

const fn half(prefix: u8, code: u8) -> Instruction {
    Instruction { prefix, map: 1, code, wide: false, long: false }
}

const fn third(code: u8) -> Instruction {
    Instruction { prefix: 1, map: 3, code, wide: false, long: true }
}

impl Instruction {
    /// `vaddpd` and its like.
    pub(super) const ADD: Self = packed(0x58);
    pub(super) const MUL: Self = packed(0x59);
    pub(super) const SUB: Self = packed(0x5c);
    pub(super) const DIV: Self = packed(0x5e);
    pub(super) const SQRT: Self = packed(0x51);
    pub(super) const AND: Self = packed(0x54);
    pub(super) const OR: Self = packed(0x56);
    pub(super) const XOR: Self = packed(0x57);
    /// `vcmppd` with a predicate.
    pub(super) const COMPARE: Self = packed(0xc2);
    /// `vmovapd`
    pub(super) const LOAD: Self = packed(0x28);
    pub(super) const STORE: Self = packed(0x29);
    /// `vmovsd` and `vmovhpd`: halves of the lower half.
    pub(super) const LOAD_LOW: Self = half(3, 0x10);
    pub(super) const STORE_LOW: Self = half(3, 0x11);
    pub(super) const LOAD_HIGH: Self = half(1, 0x16);
    pub(super) const STORE_HIGH: Self = half(1, 0x17);
    /// `vinsertf128` and `vextractf128`.
    pub(super) const INSERT: Self = third(0x18);
    pub(super) const EXTRACT: Self = third(0x19);
    /// `vblendvpd`: the second operand where the mask has its sign set, else the first one. The mask is in the upper half of the byte behind.
    pub(super) const BLEND: Self = third(0x4b);
    /// `vroundpd`
    pub(super) const ROUND: Self = third(0x09);
    /// `vfmadd231pd`: adds the product of the operands to the result.
    pub(super) const FMA: Self = Instruction { prefix: 1, map: 2, code: 0xb8, wide: true, long: true };
}

/// The bytes of a function without its beginning and end, and the numbers that it reads.
#[derive(Default)]
pub(super) struct Code {
    bytes: Vec<u8>,
    /// Where the distance to a number is, from where it counts, and which number it is.
    distances: Vec<(usize, usize, usize)>,
    numbers: Vec<u64>,
    known: Numbers,
}

impl Code {
    /// A number in every lane, in memory.
    pub(super) fn number(&mut self, bits: u64) -> Place {
        let next = self.numbers.len();
        let index = *self.known.entry(bits).or_insert(next);
        if index == next {
            self.numbers.push(bits);
        }
        Place::Number(index)
    }

    /// Reads an address from behind the address in another register.
    pub(super) fn load_address(&mut self, to: u8, from: u8, offset: i32) {
        self.bytes.push(0x48 | (to >> 3) << 2 | from >> 3);
        self.bytes.push(0x8b);
        self.address(to, from, offset);
    }

    /// An instruction with a result (or what it stores), and its first and second operand; register 0 stands for none.
    pub(super) fn put(&mut self, instruction: Instruction, result: u8, first: u8, second: Place) {
        self.encode(instruction, result, first, second, None);
    }

    /// [`Code::put`] with a byte behind.
    pub(super) fn put_with(&mut self, instruction: Instruction, result: u8, first: u8, second: Place, byte: u8) {
        self.encode(instruction, result, first, second, Some(byte));
    }

    fn encode(&mut self, instruction: Instruction, result: u8, first: u8, second: Place, byte: Option<u8>) {
        let Instruction { prefix, map, code, wide, long } = instruction;
        let far = match second {
            Place::Register(register) | Place::At(register, _) => register >> 3,
            Place::Frame(_) | Place::Number(_) => 0,
        };
        // all of these are inverted
        let (r, b, v) = (!(result >> 3) & 1, !far & 1, !first & 15);
        let last = v << 3 | u8::from(long) << 2 | prefix;
        if b == 1 && map == 1 && !wide {
            self.bytes.extend([0xc5, r << 7 | last]);
        } else {
            self.bytes.extend([0xc4, r << 7 | 1 << 6 | b << 5 | map, u8::from(wide) << 7 | last]);
        }
        self.bytes.push(code);
        match second {
            Place::Register(register) => self.bytes.push(0xc0 | (result & 7) << 3 | register & 7),
            Place::Frame(offset) => self.address(result, FRAME, offset),
            Place::At(register, offset) => self.address(result, register, offset),
            Place::Number(index) => {
                self.bytes.push((result & 7) << 3 | 5);
                let at = self.bytes.len();
                self.bytes.extend([0; 4]);
                self.distances.push((at, at + 4 + usize::from(byte.is_some()), index));
            }
        }
        self.bytes.extend(byte);
    }

    /// The bytes that name an address in memory.
    fn address(&mut self, register: u8, base: u8, offset: i32) {
        let short = i8::try_from(offset);
        let mode = if short.is_ok() { 0x40 } else { 0x80 };
        self.bytes.push(mode | (register & 7) << 3 | base & 7);
        if base & 7 == FRAME {
            self.bytes.push(0x24);
        }
        match short {
            Ok(offset) => self.bytes.push(offset as u8),
            Err(_) => self.bytes.extend(offset.to_le_bytes()),
        }
    }

    /// The whole function, with a frame of so many bytes.
    pub(super) fn finish(self, frame: i32) -> Vec<u8> {
        // push rbp; mov rbp, rsp; and rsp, -32
        let mut bytes = vec![0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xe0];
        let mut left = frame;
        while left > 0 {
            let part = left.min(PAGE);
            // sub rsp, part
            bytes.extend([0x48, 0x81, 0xec]);
            bytes.extend(part.to_le_bytes());
            if left > PAGE {
                // or qword [rsp], 0
                bytes.extend([0x48, 0x83, 0x0c, 0x24, 0x00]);
            }
            left -= part;
        }
        let start = bytes.len();
        bytes.extend(&self.bytes);
        // vzeroupper; mov rsp, rbp; pop rbp; ret
        bytes.extend([0xc5, 0xf8, 0x77, 0x48, 0x89, 0xec, 0x5d, 0xc3]);
        bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0xcc);
        let numbers = bytes.len();
        for number in &self.numbers {
            for _ in 0..ALIGNMENT / 8 {
                bytes.extend(number.to_le_bytes());
            }
        }
        for &(at, from, index) in &self.distances {
            let distance = (numbers + ALIGNMENT * index) as i32 - (start + from) as i32;
            bytes[start + at..start + at + 4].copy_from_slice(&distance.to_le_bytes());
        }
        bytes
    }
}
