//! Addresses: words of the argument block, walks and their positions, elements, and hoisted values in the buffer.

use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Type, Value, types};
use odec_ir::NodeId;
use odec_ir::nest::Element;
use odec_ir::nest::arguments::{Counter, Stride};

use super::known::{AvailableValue, Reached};
use super::{FunctionWriter, broken};
use crate::JitError;
use crate::abi::{ARGUMENTS, DOUBLE};
use crate::ops::Width;
use crate::routine::{Origin, Site, Use};

impl FunctionWriter<'_, '_> {
    // Hoisted values in the buffer.

    fn buffer(&self) -> Result<Value, JitError> {
        self.buffer.ok_or_else(|| broken("a kernel that keeps values has no buffer"))
    }

    /// Loads a value that another part of a long kernel stored, or that was computed much earlier.
    pub(super) fn load_scratch(&mut self, element: u32) -> Result<Value, JitError> {
        let buffer = self.buffer()?;
        Ok(self.pos.ins().load(types::F64, MemFlagsData::trusted(), buffer, FunctionWriter::offset(element as usize)))
    }

    pub(super) fn store_scratch(&mut self, number: Value, element: u32) -> Result<(), JitError> {
        let buffer = self.buffer()?;
        self.pos.ins().store(MemFlagsData::trusted(), number, buffer, FunctionWriter::offset(element as usize));
        Ok(())
    }

    /// Bytes of this many doubles.
    pub(super) fn offset(elements: usize) -> i32 {
        (elements * DOUBLE) as i32
    }

    /// Computes the positions of hoisted values: consecutive, each as long as its loop.
    pub(super) fn place_kept(&mut self) -> Result<(), JitError> {
        let routine = self.routine;
        if routine.values.is_empty() {
            return Ok(());
        }
        let mut next = self.buffer()?;
        for value in &routine.values {
            self.kept.push(next);
            let rounds = self.word(routine.arguments.rounds(Counter::Loop(value.over)));
            let bytes = self.pos.ins().ishl_imm_u(rounds, 3);
            next = self.pos.ins().iadd(next, bytes);
        }
        Ok(())
    }

    /// The address of a hoisted value in this round of its loop, and true if that is the innermost loop.
    fn kept_at(&mut self, value: usize) -> Result<(Value, bool), JitError> {
        let counter = Counter::Loop(self.routine.values[value].over);
        let round = self.rounds.iter().rfind(|round| round.counter == counter).copied();
        let round = round.ok_or_else(|| broken("a kept value is used outside of its loop"))?;
        let bytes = self.pos.ins().ishl_imm_u(round.k, 3);
        let innermost = self.rounds.last().is_some_and(|last| last.counter == counter);
        Ok((self.pos.ins().iadd(self.kept[value], bytes), innermost))
    }

    /// Stores a node if it is a hoisted value: for one round or for two.
    pub(super) fn keep_value(&mut self, node: NodeId) -> Result<(), JitError> {
        let routine = self.routine;
        for (k, _) in routine.values.iter().enumerate().filter(|(_, value)| value.node == node) {
            let number = self.number(node)?;
            let (address, _) = self.kept_at(k)?;
            self.pos.ins().store(MemFlagsData::new().with_notrap(), number, address, 0);
        }
        Ok(())
    }

    fn kept_value(&mut self, value: usize) -> Result<AvailableValue, JitError> {
        let (address, innermost) = self.kept_at(value)?;
        let flags = MemFlagsData::new().with_notrap();
        if self.width == Width::Two && innermost {
            return Ok(AvailableValue::pair(self.pos.ins().load(types::F64X2, flags, address, 0)));
        }
        let number = self.pos.ins().load(types::F64, flags, address, 0);
        Ok(match self.width {
            Width::One => AvailableValue::number(number),
            Width::Two => AvailableValue::pair(self.pos.ins().splat(types::F64X2, number)),
        })
    }

    // Walks.

    /// A word of the argument block.
    pub(super) fn word(&mut self, word: u32) -> Value {
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        self.pos.ins().load(types::I64, flags, self.args[ARGUMENTS], FunctionWriter::offset(word as usize))
    }

    /// The address of a walk before the loops that have not moved it yet.
    pub(super) fn start(&mut self, walk: u32) -> Value {
        if let Some(address) = self.reached[walk as usize].address {
            return address;
        }
        let address = match self.routine.walks.all[walk as usize].origin {
            Origin::Table(word) => self.word(word),
            Origin::Buffer(buffer, word) => {
                let base = self.word(word);
                let bytes = self.pos.ins().ishl_imm_u(base, 3);
                self.pos.ins().iadd(self.args[buffer], bytes)
            }
        };
        let reached = Reached { address: Some(address), ..self.reached[walk as usize].clone() };
        self.reach(walk, reached);
        address
    }

    /// A stride that is a word of the argument block, in bytes.
    pub(super) fn stride(&mut self, walk: u32, word: u32) -> Value {
        if let Some(stride) = self.reached[walk as usize].stride {
            return stride;
        }
        let elements = self.word(word);
        self.pos.ins().ishl_imm_u(elements, i64::from(self.routine.walks.all[walk as usize].shift()))
    }

    /// The address of a walk `ahead` rounds of the innermost loop later, and an offset. Inner loops that have not
    /// been entered do not move it yet.
    pub(super) fn address(&mut self, walk: u32, ahead: u32) -> (Value, i32) {
        let routine = self.routine;
        let mut address = self.start(walk);
        let mut offset = 0;
        let shift = routine.walks.all[walk as usize].shift();
        for &(counter, stride) in &routine.walks.all[walk as usize].strides {
            if self.reached[walk as usize].done.contains(&counter) {
                continue;
            }
            let Some(round) = self.rounds.iter().rfind(|round| round.counter == counter).copied() else { continue };
            let innermost = self.rounds.last().is_some_and(|last| last.counter == counter);
            let ahead = if innermost { ahead } else { 0 };
            address = match stride {
                Stride::One => {
                    offset += (ahead as i32) << shift;
                    let bytes = self.pos.ins().ishl_imm_u(round.k, i64::from(shift));
                    self.pos.ins().iadd(address, bytes)
                }
                Stride::Word(word) => {
                    let bytes = self.stride(walk, word);
                    let k = if ahead == 0 { round.k } else { self.pos.ins().iadd_imm_u(round.k, i64::from(ahead)) };
                    let bytes = self.pos.ins().imul(k, bytes);
                    self.pos.ins().iadd(address, bytes)
                }
            };
        }
        (address, offset)
    }

    /// The address of an element after all loops that move it.
    fn whole_address(&mut self, walk: u32, ahead: u32) -> Result<(Value, i32), JitError> {
        let here = |counter: &Counter| self.rounds.iter().any(|round| round.counter == *counter);
        if !self.routine.walks.all[walk as usize].strides.iter().all(|(counter, _)| here(counter)) {
            return Err(broken("an element is used outside of its loop"));
        }
        Ok(self.address(walk, ahead))
    }

    /// A number of an offset table, as an integer.
    pub(super) fn listed(&mut self, walk: u32, ahead: u32) -> Result<Value, JitError> {
        if let Some(number) = self.reached[walk as usize].listed[ahead as usize] {
            return Ok(number);
        }
        let (address, offset) = self.whole_address(walk, ahead)?;
        let flags = MemFlagsData::trusted().with_readonly().with_can_move();
        let number = self.pos.ins().uload32(flags, address, offset);
        let mut reached = self.reached[walk as usize].clone();
        reached.listed[ahead as usize] = Some(number);
        self.reach(walk, reached);
        Ok(number)
    }

    /// The address of an element in a round, and an offset.
    pub(super) fn place(&mut self, site: Site, ahead: u32) -> Result<(Value, i32), JitError> {
        let Some(table) = site.table else {
            let (address, offset) = self.whole_address(site.walk, ahead)?;
            return Ok((address, offset + site.delta * DOUBLE as i32));
        };
        let position = self.listed(table, ahead)?;
        let start = self.start(site.walk);
        let bytes = self.pos.ins().ishl_imm_u(position, 3);
        Ok((self.pos.ins().iadd(start, bytes), 0))
    }

    /// The site of an access.
    pub(super) fn site(&self, element: Element, used: Use) -> Result<Site, JitError> {
        self.routine.walks.site(element, used).ok_or_else(|| broken("an element has no place"))
    }

    /// True if two rounds use adjacent elements; `None` if the loop does not move the walk.
    pub(super) fn side_by_side(&self, site: Site) -> Option<bool> {
        let counter = self.rounds.last()?.counter;
        if let Some(table) = site.table {
            return self.routine.walks.all[table as usize].moves(counter).then_some(false);
        }
        let strides = &self.routine.walks.all[site.walk as usize].strides;
        strides.iter().find(|(c, _)| *c == counter).map(|(_, stride)| *stride == Stride::One)
    }

    /// The element of an access, or the hoisted value that replaces it.
    pub(super) fn element(&mut self, element: Element, used: Use) -> Result<AvailableValue, JitError> {
        if let Some(value) = element.access().and_then(|access| self.routine.kept_at(access)) {
            return self.kept_value(value);
        }
        let site = self.site(element, used)?;
        if self.width == Width::One {
            return Ok(AvailableValue::number(self.load(site, 0, types::F64)?));
        }
        Ok(AvailableValue::pair(match self.side_by_side(site) {
            Some(true) => self.load(site, 0, types::F64X2)?,
            Some(false) => {
                let (first, second) = (self.load(site, 0, types::F64)?, self.load(site, 1, types::F64)?);
                self.join(first, second)
            }
            None => {
                let number = self.load(site, 0, types::F64)?;
                self.pos.ins().splat(types::F64X2, number)
            }
        }))
    }

    fn load(&mut self, site: Site, ahead: u32, ty: Type) -> Result<Value, JitError> {
        let (address, offset) = self.place(site, ahead)?;
        // A kernel does not write what it reads; vectors are not aligned to their size.
        let flags = MemFlagsData::new().with_notrap().with_readonly().with_can_move();
        Ok(self.pos.ins().load(ty, flags, address, offset))
    }
}
