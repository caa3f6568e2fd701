//! Lookups in tables of the parameter buffer: a branch-free search with a fixed number of steps, and reads of its result.

use cranelift_codegen::cursor::FuncCursor;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use odec_ir::builtin::lookup::{Lookup, steps};
use odec_ir::nest::Element;
use odec_ir::{NodeId, Primitive};

use super::known::AvailableValue;
use super::{FunctionWriter, broken};
use crate::JitError;
use crate::ops::Width;
use crate::routine::Use;

/// A table in memory, with the index of its last element.
#[derive(Clone, Copy)]
struct Table {
    address: Value,
    offset: i32,
    last: usize,
}

impl Table {
    fn at(self, pos: &mut FuncCursor, k: Value) -> Value {
        let bytes = pos.ins().ishl_imm_u(k, 3);
        let address = pos.ins().iadd(self.address, bytes);
        pos.ins().load(types::F64, flags(), address, self.offset)
    }

    fn known(self, pos: &mut FuncCursor, k: usize) -> Value {
        let k = pos.ins().iconst(types::I64, k as i64);
        self.at(pos, k)
    }

    /// The last piece that does not begin after u.
    fn last_below(self, pos: &mut FuncCursor, u: Value) -> Value {
        let mut k = pos.ins().iconst(types::I64, 0);
        let end = pos.ins().iconst(types::I64, self.last as i64 - 1);
        for step in steps(self.last) {
            let step = pos.ins().iconst(types::I64, step as i64);
            let next = pos.ins().iadd(k, step);
            let next = pos.ins().umin(next, end);
            let knot = self.at(pos, next);
            let goes = Width::One.compare(pos, FloatCC::LessThanOrEqual, knot, u);
            k = pos.ins().select(goes, next, k);
        }
        pos.ins().fcvt_from_sint(types::F64, k)
    }
}

/// A kernel does not write what it reads.
fn flags() -> MemFlagsData {
    MemFlagsData::new().with_notrap().with_readonly().with_can_move()
}

impl FunctionWriter<'_, '_> {
    /// Writes a lookup. The routine has been checked: the table has the stated length.
    pub(super) fn look_up(&mut self, node: NodeId) -> Result<AvailableValue, JitError> {
        let found = self.routine.kernel.graph.lookup(node);
        let (lookup, element, argument, length) = found.ok_or_else(|| broken("a lookup has no table"))?;
        let argument = self.number(argument)?;
        let (address, offset) = self.table(element)?;
        let table = Table { address, offset, last: length - 1 };
        let pos = &mut self.pos;
        let none = Width::One.constant(pos, f64::NAN);
        let found = match lookup {
            Lookup::Piece | Lookup::Cycle if length == 1 => none,
            Lookup::Piece => {
                let (first, last) = (table.known(pos, 0), table.known(pos, table.last));
                let above = Width::One.compare(pos, FloatCC::LessThanOrEqual, first, argument);
                let below = Width::One.compare(pos, FloatCC::LessThanOrEqual, argument, last);
                let inside = pos.ins().band(above, below);
                let k = table.last_below(pos, argument);
                pos.ins().select(inside, k, none)
            }
            Lookup::Cycle => {
                let (first, last) = (table.known(pos, 0), table.known(pos, table.last));
                let mut of = |primitive, a, b| Width::One.arithmetic(pos, primitive, a, b);
                let period = of(Primitive::Sub, last, first);
                let beyond = of(Primitive::Sub, argument, first);
                let periods = of(Primitive::Div, beyond, period);
                let periods = of(Primitive::Floor, periods, periods);
                let whole = of(Primitive::Mul, periods, period);
                let within = of(Primitive::Sub, argument, whole);
                let k = table.last_below(pos, within);
                let pieces = Width::One.constant(pos, table.last as f64);
                let mut of = |primitive, a, b| Width::One.arithmetic(pos, primitive, a, b);
                let before = of(Primitive::Mul, periods, pieces);
                of(Primitive::Add, before, k)
            }
            Lookup::Item => {
                let (zero, most) = (Width::One.constant(pos, 0.0), Width::One.constant(pos, table.last as f64));
                let above = Width::One.compare(pos, FloatCC::LessThanOrEqual, zero, argument);
                let below = Width::One.compare(pos, FloatCC::LessThanOrEqual, argument, most);
                let known = pos.ins().band(above, below);
                let k = pos.ins().fcvt_to_uint_sat(types::I64, argument);
                let last = pos.ins().iconst(types::I64, table.last as i64);
                let k = pos.ins().umin(k, last);
                let value = table.at(pos, k);
                pos.ins().select(known, value, none)
            }
        };
        Ok(AvailableValue::number(found))
    }

    /// The address of the first element of a table, and an offset.
    fn table(&mut self, element: Element) -> Result<(Value, i32), JitError> {
        if let (Element::Scalar(array), Some(scalar)) = (element, &self.routine.scalar) {
            let (buffer, at) = scalar.element(array);
            return Ok((self.args[buffer], FunctionWriter::offset(at)));
        }
        let site = self.site(element, Use::Input)?;
        self.place(site, 0)
    }
}
