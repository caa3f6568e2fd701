//! Writes a program as an object file for a linker, with the interface of [`odec_ir::interface`].

use cranelift_module::{DataDescription, DataId, FuncId, Linkage, Module};
use cranelift_object::{ObjectBuilder, ObjectModule};
use odec_ir::interface::{self, Content, FUNCTIONS};
use odec_ir::schedule::Schedule;
use odec_ir::{Layout, Program};

use crate::host::{self, Effort};
use crate::lower::DOUBLE;
use crate::{JitError, Strategy, code, compiled, unit};

/// The object file, in the format of this computer, position independent, for its base instruction set; it needs the C
/// mathematical library and nothing else. Symbols begin with `prefix` and an underscore.
///
/// # Errors
/// [`JitError::BadPrefix`], or what no code can be written for.
pub fn object(program: &Program, prefix: &str) -> Result<Vec<u8>, JitError> {
    if !interface::is_prefix(prefix) {
        return Err(JitError::BadPrefix(prefix.to_string()));
    }
    let layout = Layout::of(program);
    let schedules = compiled::schedules(program, &layout, Strategy::default())?;
    let builder = ObjectBuilder::new(host::isa(Effort::Object)?, prefix, Box::new(code::libcall))?;
    let mut module = ObjectModule::new(builder);
    for function in FUNCTIONS {
        let name = format!("{prefix}_{}", function.suffix);
        let empty = Schedule::empty(function.role);
        let schedule = schedules.iter().find(|schedule| schedule.role == function.role).unwrap_or(&empty);
        let _: (FuncId, usize) = unit::define(&mut module, &name, Linkage::Export, schedule, Strategy::default())?;
    }
    for constant in interface::constants(program, &layout) {
        let name = format!("{prefix}_{}", constant.suffix);
        let id = module.declare_data(&name, Linkage::Export, false, false)?;
        let description = describe(&mut module, &constant.content)?;
        module.define_data(id, &description)?;
    }
    module.finish().emit().map_err(|error| JitError::Backend(error.to_string()))
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
