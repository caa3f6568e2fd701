//! Writes a program as an object file for a linker, with the interface of [`odec_ir::interface`].

use std::collections::HashMap;

use cranelift_module::{DataDescription, DataId, Linkage, Module};
use cranelift_object::{ObjectBuilder, ObjectModule};
use odec_ir::interface::events::EventInterface;
use odec_ir::interface::{self, BoundForExport, Content, FUNCTIONS};
use odec_ir::nest::bind::{BoundKernel, TableId, Word};
use odec_ir::switch::Switching;
use odec_ir::{KernelRole, Program};

use crate::abi::DOUBLE;
use crate::host::{self, Effort};
use crate::routine::Source;
use crate::unit::OutputInit;
use crate::{JitError, code, unit};

/// The object file, in the format of this computer, position independent, for its base instruction set. It only needs
/// the C mathematical library. Symbols begin with `prefix` and an underscore.
///
/// # Errors
/// [`JitError::BadPrefix`], or an error of a kernel that cannot be compiled.
pub fn object(program: &Program, prefix: &str) -> Result<Vec<u8>, JitError> {
    written(program, None, prefix)
}

/// The object file of a program with modes, with the functions and tables of its events.
///
/// # Errors
/// See [`object`].
pub fn object_with_events(program: &Program, switching: &Switching, prefix: &str) -> Result<Vec<u8>, JitError> {
    let events = EventInterface::of(program, switching).map_err(|why| JitError::NotBound(why.to_string()))?;
    written(program, Some(&events), prefix)
}

fn written(program: &Program, events: Option<&EventInterface>, prefix: &str) -> Result<Vec<u8>, JitError> {
    if !interface::is_prefix(prefix) {
        return Err(JitError::BadPrefix(prefix.to_string()));
    }
    let settled = BoundForExport::of(program).map_err(|why| JitError::NotBound(why.to_string()))?;
    let source = Source::unbuffered(&settled.program);
    let builder = ObjectBuilder::new(host::isa(Effort::Object)?, prefix, Box::new(code::libcall))?;
    let mut module = ObjectModule::new(builder);
    for function in FUNCTIONS {
        define(&mut module, &format!("{prefix}_{}", function.suffix), (&settled, &source), function.role)?;
    }
    for function in events.iter().flat_map(|events| &events.functions) {
        let source = Source::unbuffered(&function.settled.program);
        let name = format!("{prefix}_{}", function.suffix);
        define(&mut module, &name, (&function.settled, &source), KernelRole::Outputs)?;
    }
    let further = events.iter().flat_map(|events| events.constants.iter().cloned());
    for constant in settled.constants().into_iter().chain(further) {
        let name = format!("{prefix}_{}", constant.suffix);
        let id = module.declare_data(&name, Linkage::Export, false, false)?;
        let description = describe(&mut module, &constant.content)?;
        module.define_data(id, &description)?;
    }
    module.finish().emit().map_err(|error| JitError::Backend(error.to_string()))
}

/// Defines the function of a role: its only kernel if that has no loops, otherwise a function that runs its kernels,
/// each with its argument block.
fn define(
    module: &mut ObjectModule,
    name: &str,
    (settled, source): (&BoundForExport, &Source<'_>),
    role: KernelRole,
) -> Result<(), JitError> {
    let (program, layout) = (&settled.program, &settled.layout);
    let (runs, tables) = settled.runs(role);
    let has_data = role == KernelRole::Prepare && layout.data > 0;
    let mut known: HashMap<u32, DataId> = HashMap::new();
    let mut calls = Vec::with_capacity(runs.len());
    for run in runs {
        let routine = source.routine(&program.kernels[run.kernel])?;
        // a kernel without loops is the only one of its role; if the program has tables, another function copies them first
        if routine.scalar.is_some() && !has_data {
            return unit::define(module, Some(name), &routine).map(|_| ());
        }
        // As in memory: an empty matrix needs none of its kernels.
        if role.is_matrix() && layout.out_len(program, role) == 0 {
            continue;
        }
        let (function, _) = unit::define(module, None, &routine)?;
        calls.push((function, arguments(module, run, tables, &mut known)?));
    }
    let mut first = None;
    if has_data {
        let bytes = settled.data().iter().flat_map(|number| number.to_ne_bytes()).collect();
        first = Some(OutputInit::Copy(anonymous(module, bytes)?, layout.np + layout.staged, layout.data));
    } else if role.is_matrix() {
        first = Some(OutputInit::Zero(layout.out_len(program, role)));
    }
    unit::define_calls(module, name, first, &calls)
}

/// Defines the argument block of a run and its offset tables, unless they exist.
fn arguments(
    module: &mut ObjectModule,
    run: &BoundKernel,
    tables: &[Vec<u32>],
    known: &mut HashMap<u32, DataId>,
) -> Result<DataId, JitError> {
    let mut arguments = DataDescription::new();
    arguments.set_align(DOUBLE as u64);
    let words = run.words.iter().flat_map(|word| match word {
        Word::Integer(value) => value.to_ne_bytes(),
        Word::Table(_) => [0; DOUBLE],
    });
    let words: Vec<u8> = words.collect();
    arguments.define(if words.is_empty() { vec![0; DOUBLE] } else { words }.into_boxed_slice());
    for (k, word) in run.words.iter().enumerate() {
        let Word::Table(TableId(table)) = *word else { continue };
        let data = if let Some(&data) = known.get(&table) {
            data
        } else {
            let bytes = tables[table as usize].iter().flat_map(|element| element.to_ne_bytes()).collect();
            let data = anonymous(module, bytes)?;
            known.insert(table, data);
            data
        };
        let address = module.declare_data_in_data(data, &mut arguments);
        arguments.write_data_addr((k * DOUBLE) as u32, address, 0);
    }
    let id = module.declare_anonymous_data(false, false)?;
    module.define_data(id, &arguments)?;
    Ok(id)
}

/// Constant data without a name.
fn anonymous(module: &mut ObjectModule, bytes: Vec<u8>) -> Result<DataId, JitError> {
    let mut description = DataDescription::new();
    description.set_align(DOUBLE as u64);
    description.define(if bytes.is_empty() { vec![0; DOUBLE] } else { bytes }.into_boxed_slice());
    let id = module.declare_anonymous_data(false, false)?;
    module.define_data(id, &description)?;
    Ok(id)
}

/// The bytes of a constant, and the addresses in it.
fn describe(module: &mut ObjectModule, content: &Content) -> Result<DataDescription, JitError> {
    let mut description = DataDescription::new();
    let pointer = usize::from(module.isa().pointer_bytes());
    description.set_align(DOUBLE as u64);
    let bytes: Vec<u8> = match content {
        Content::Integer(value) => value.to_ne_bytes().to_vec(),
        Content::Integers(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Content::Numbers(values) => values.iter().flat_map(|value| value.to_ne_bytes()).collect(),
        Content::Text(text) => zero_ended(text),
        Content::Texts(texts) => {
            for (i, text) in texts.iter().enumerate() {
                let id: DataId = module.declare_anonymous_data(false, false)?;
                let mut characters = DataDescription::new();
                characters.define(zero_ended(text).into_boxed_slice());
                module.define_data(id, &characters)?;
                let address = module.declare_data_in_data(id, &mut description);
                description.write_data_addr((i * pointer) as u32, address, 0);
            }
            vec![0; texts.len() * pointer]
        }
    };
    // C has no empty arrays.
    let bytes = if bytes.is_empty() { vec![0; DOUBLE] } else { bytes };
    description.define(bytes.into_boxed_slice());
    Ok(description)
}

fn zero_ended(text: &str) -> Vec<u8> {
    text.bytes().chain([0]).collect()
}
