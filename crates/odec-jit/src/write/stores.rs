//! Stores: to an element, added to an element, added to the entry of a matrix.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types};
use odec_ir::nest::Target;
use odec_ir::nest::arguments::DROPPED;

use super::{FunctionWriter, broken};
use crate::JitError;
use crate::abi::OUT;
use crate::ops::Width;
use crate::routine::Use;

impl FunctionWriter<'_, '_> {
    /// Writes a store, or delays it until both rounds of a vectorised loop have computed their values.
    pub(super) fn store(&mut self, store: u32) -> Result<(), JitError> {
        let routine = self.routine;
        let number = self.number(routine.result(store))?;
        if let Some(scalar) = &routine.scalar {
            let offset = FunctionWriter::offset(scalar.position(store));
            self.pos.ins().store(MemFlagsData::trusted(), number, self.args[OUT], offset);
            return Ok(());
        }
        if self.width == Width::One {
            return self.store_round(store, 0, number);
        }
        if let Target::Set(element) = routine.kernel.stores[store as usize].target {
            let site = self.site(element, Use::Result)?;
            if self.side_by_side(site) == Some(true) {
                let (address, offset) = self.place(site, 0)?;
                self.pos.ins().store(MemFlagsData::new().with_notrap(), number, address, offset);
                return Ok(());
            }
        }
        self.delayed.push((store, number));
        Ok(())
    }

    /// Writes the delayed stores, one round after the other.
    pub(super) fn store_delayed(&mut self) -> Result<(), JitError> {
        let delayed = std::mem::take(&mut self.delayed);
        for round in 0..2 {
            for &(store, pair) in &delayed {
                let number = self.pos.ins().extractlane(pair, round as u8);
                self.store_round(store, round, number)?;
            }
        }
        Ok(())
    }

    fn store_round(&mut self, store: u32, ahead: u32, number: Value) -> Result<(), JitError> {
        match self.routine.kernel.stores[store as usize].target {
            Target::Set(element) => {
                let site = self.site(element, Use::Result)?;
                let (address, offset) = self.place(site, ahead)?;
                self.pos.ins().store(MemFlagsData::trusted(), number, address, offset);
            }
            Target::Add(element) => {
                let site = self.site(element, Use::Result)?;
                let (address, offset) = self.place(site, ahead)?;
                self.add_to(address, offset, number);
            }
            Target::Entry(..) => self.store_entry(store, ahead, number)?,
        }
        Ok(())
    }

    fn store_entry(&mut self, store: u32, ahead: u32, number: Value) -> Result<(), JitError> {
        let walk =
            self.routine.walks.entries[store as usize].ok_or_else(|| broken("a matrix entry has no positions"))?;
        let (mut entry, mut number) = (self.listed(walk, ahead)?, number);
        if self.routine.arguments.entries_of(store as usize).checked {
            // A dropped entry adds -0, which changes no number, to the first entry: a jump for each entry would split
            // the code into blocks, and single-pass register allocation keeps no values between blocks.
            let dropped = self.pos.ins().icmp_imm_u(IntCC::Equal, entry, i64::from(DROPPED));
            let first = self.pos.ins().iconst(types::I64, 0);
            let nothing = Width::One.constant(&mut self.pos, -0.0);
            number = self.pos.ins().select(dropped, nothing, number);
            entry = self.pos.ins().select(dropped, first, entry);
        }
        let bytes = self.pos.ins().ishl_imm_u(entry, 3);
        let address = self.pos.ins().iadd(self.args[OUT], bytes);
        self.add_to(address, 0, number);
        Ok(())
    }

    fn add_to(&mut self, address: Value, offset: i32, number: Value) {
        let flags = MemFlagsData::trusted();
        let old = self.pos.ins().load(types::F64, flags, address, offset);
        let sum = self.pos.ins().fadd(old, number);
        self.pos.ins().store(flags, sum, address, offset);
    }
}
