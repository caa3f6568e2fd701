//! The primitive operations as instructions: on one double, or on two in a vector register.
//!
//! IEEE 754 or the row of the builtin defines every operation, and operations are not fused, so the bits are those of
//! the interpreter. A truth value is 0 or 1 in a byte, or all bits of a lane.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::immediates::Ieee64;
use cranelift_codegen::ir::{BlockArg, InstBuilder, MemFlagsData, Value, types};
use odec_ir::Primitive;
use odec_ir::builtin::exponential::{HYPOT_LEAST, HYPOT_SCALES};

/// The number of values in an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Width {
    /// One double.
    One,
    /// Two doubles in 128 bits.
    Two,
}

/// The sign bit of a double.
const SIGN: u64 = 1 << 63;

impl Width {
    /// A number in every lane.
    pub(crate) fn constant(self, pos: &mut FuncCursor, number: f64) -> Value {
        self.bits(pos, number.to_bits())
    }

    fn bits(self, pos: &mut FuncCursor, bits: u64) -> Value {
        match self {
            Width::One => pos.ins().f64const(Ieee64::with_bits(bits)),
            Width::Two => pair(pos, [bits; 2]),
        }
    }

    /// True if a number is not zero (NaN is not zero).
    pub(crate) fn truth_of(self, pos: &mut FuncCursor, number: Value) -> Value {
        let zero = self.constant(pos, 0.0);
        self.compare(pos, FloatCC::NotEqual, number, zero)
    }

    /// Compares numbers. A pair is loaded into registers first: without AVX the instruction faults on memory that is
    /// not aligned to 16 bytes, and the code generator could use the memory of a loaded operand directly.
    pub(crate) fn compare(self, pos: &mut FuncCursor, condition: FloatCC, a: Value, b: Value) -> Value {
        let [a, b] = match self {
            Width::One => [a, b],
            Width::Two => [a, b].map(|pair| {
                let bits = pos.ins().bitcast(types::I64X2, MemFlagsData::new(), pair);
                pos.ins().bitcast(types::F64X2, MemFlagsData::new(), bits)
            }),
        };
        pos.ins().fcmp(condition, a, b)
    }

    /// 1 or 0.
    pub(crate) fn number_of(self, pos: &mut FuncCursor, truth: Value) -> Value {
        let one = self.constant(pos, 1.0);
        match self {
            Width::One => {
                let zero = self.constant(pos, 0.0);
                pos.ins().select(truth, one, zero)
            }
            Width::Two => {
                let mask = as_number(pos, truth);
                pos.ins().band(mask, one)
            }
        }
    }

    /// `condition ? a : b`, where the condition is a truth value.
    pub(crate) fn select(self, pos: &mut FuncCursor, condition: Value, a: Value, b: Value) -> Value {
        match self {
            Width::One => pos.ins().select(condition, a, b),
            Width::Two => {
                let mask = as_number(pos, condition);
                pos.ins().bitselect(mask, a, b)
            }
        }
    }

    /// The negation of a truth value.
    pub(crate) fn not(self, pos: &mut FuncCursor, truth: Value) -> Value {
        match self {
            Width::One => pos.ins().bxor_imm_u(truth, 1),
            Width::Two => pos.ins().bnot(truth),
        }
    }

    /// An operation whose operands and result are numbers.
    pub(crate) fn arithmetic(self, pos: &mut FuncCursor, primitive: Primitive, x: Value, y: Value) -> Value {
        match primitive {
            Primitive::Add => pos.ins().fadd(x, y),
            Primitive::Sub => pos.ins().fsub(x, y),
            Primitive::Mul => pos.ins().fmul(x, y),
            Primitive::Div => pos.ins().fdiv(x, y),
            Primitive::Neg => pos.ins().fneg(x),
            Primitive::Abs => pos.ins().fabs(x),
            Primitive::Sqrt => pos.ins().sqrt(x),
            Primitive::Floor => pos.ins().floor(x),
            Primitive::Ceil => pos.ins().ceil(x),
            Primitive::Copysign => match self {
                Width::One => pos.ins().fcopysign(x, y),
                Width::Two => {
                    let sign = self.bits(pos, SIGN);
                    pos.ins().bitselect(sign, y, x)
                }
            },
            // `y < x` selects y, else x, unless y is NaN: the first argument on a tie, and NaN from either side. The
            // processor's minimum returns the second argument for NaN, and Cranelift's minimum orders zeros.
            Primitive::Min => self.extremum(pos, FloatCC::LessThan, x, y),
            Primitive::Max => self.extremum(pos, FloatCC::GreaterThan, x, y),
            Primitive::Hypot => self.hypot(pos, x, y),
            // these return truth values
            Primitive::Lt
            | Primitive::Le
            | Primitive::Eq
            | Primitive::Ne
            | Primitive::And
            | Primitive::Or
            | Primitive::Not
            // and these take three operands
            | Primitive::Fma
            | Primitive::Select => x,
        }
    }

    fn extremum(self, pos: &mut FuncCursor, beats: FloatCC, x: Value, y: Value) -> Value {
        let second = self.compare(pos, beats, y, x);
        let least = self.select(pos, second, y, x);
        let invalid = self.compare(pos, FloatCC::Unordered, y, y);
        self.select(pos, invalid, y, least)
    }

    /// The square root of the sum of squares. If that sum overflows or underflows, a separate block computes it with
    /// scaled arguments.
    fn hypot(self, pos: &mut FuncCursor, x: Value, y: Value) -> Value {
        let ty = pos.func.dfg.value_type(x);
        let [fits, ends, apart, join] = [(); 4].map(|()| pos.func.dfg.make_block());
        let result = pos.func.dfg.append_block_param(join, ty);
        let squares = |pos: &mut FuncCursor, x: Value, y: Value| {
            let (x, y) = (pos.ins().fmul(x, x), pos.ins().fmul(y, y));
            pos.ins().fadd(x, y)
        };
        let sum = squares(pos, x, y);
        let [least, infinity] = [HYPOT_LEAST, f64::INFINITY].map(|number| self.constant(pos, number));
        match self {
            Width::One => {
                let enough = pos.ins().fcmp(FloatCC::GreaterThanOrEqual, sum, least);
                pos.ins().brif(enough, ends, &[], apart, &[]);
                pos.insert_block(ends);
                let finite = pos.ins().fcmp(FloatCC::LessThan, sum, infinity);
                pos.ins().brif(finite, fits, &[], apart, &[]);
            }
            Width::Two => {
                let enough = pos.ins().fcmp(FloatCC::GreaterThanOrEqual, sum, least);
                let finite = pos.ins().fcmp(FloatCC::LessThan, sum, infinity);
                let both = pos.ins().band(enough, finite);
                let both = pos.ins().vall_true(both);
                pos.ins().brif(both, ends, &[], apart, &[]);
                pos.insert_block(ends);
                pos.ins().jump(fits, &[]);
            }
        }
        pos.insert_block(fits);
        let root = pos.ins().sqrt(sum);
        pos.ins().jump(join, &[BlockArg::Value(root)]);

        pos.insert_block(apart);
        pos.func.layout.set_cold(apart);
        let [large, small] = HYPOT_SCALES.map(|scale| self.constant(pos, scale));
        let short = pos.ins().fcmp(FloatCC::LessThan, sum, least);
        let long = pos.ins().fcmp(FloatCC::Equal, sum, infinity);
        // In a pair, the other value may not need scaling.
        let one = self.constant(pos, 1.0);
        let [scale, back] = [[large, small], [small, large]].map(|[if_short, if_long]| {
            let scale = self.select(pos, long, if_long, one);
            self.select(pos, short, if_short, scale)
        });
        let scaled = [x, y].map(|x| pos.ins().fmul(x, scale));
        let root = squares(pos, scaled[0], scaled[1]);
        let root = pos.ins().sqrt(root);
        let root = pos.ins().fmul(root, back);
        let [first, second] = [x, y].map(|x| {
            let size = pos.ins().fabs(x);
            pos.ins().fcmp(FloatCC::Equal, size, infinity)
        });
        let infinite = pos.ins().bor(first, second);
        let root = self.select(pos, infinite, infinity, root);
        pos.ins().jump(join, &[BlockArg::Value(root)]);
        pos.insert_block(join);
        result
    }
}

/// The condition of a comparison.
pub(crate) fn comparison(primitive: Primitive) -> Option<FloatCC> {
    match primitive {
        Primitive::Lt => Some(FloatCC::LessThan),
        Primitive::Le => Some(FloatCC::LessThanOrEqual),
        Primitive::Eq => Some(FloatCC::Equal),
        Primitive::Ne => Some(FloatCC::NotEqual),
        _ => None,
    }
}

/// Two doubles by their bits.
pub(crate) fn pair(pos: &mut FuncCursor, bits: [u64; 2]) -> Value {
    let bytes: Vec<u8> = bits.iter().flat_map(|lane| lane.to_le_bytes()).collect();
    let constant = pos.func.dfg.constants.insert(bytes.as_slice().into());
    pos.ins().vconst(types::F64X2, constant)
}

/// A mask as an operand of bit operations on numbers.
fn as_number(pos: &mut FuncCursor, mask: Value) -> Value {
    pos.ins().bitcast(types::F64X2, MemFlagsData::new(), mask)
}
