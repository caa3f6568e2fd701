//! Machine code in memory: the owner of the code, and the only place that calls it.

use cranelift_codegen::ir::LibCall;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, default_libcall_names};

use crate::host::Effort;
use crate::routine::Routine;
use crate::{JitError, Strategy, host, libm, unit};

/// A compiled kernel: time, state, parameters, direction, result, words of the argument block, buffer for hoisted values.
pub(crate) type Entry = unsafe extern "C" fn(f64, *const f64, *const f64, *const f64, *mut f64, *const u64, *mut f64);

/// A module that frees its memory when it is dropped; `JITModule` itself leaks it.
pub(crate) struct Memory(pub(crate) Option<JITModule>);

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the addresses of the code are in the `Code` or `Callback` that owns this, or in `new` before it gave one;
            // calls borrow that, so none is running and none can follow.
            unsafe { module.free_memory() }
        }
    }
}

/// The buffers of a call.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    pub(crate) t: f64,
    pub(crate) y: *const f64,
    pub(crate) p: *const f64,
    pub(crate) w: *const f64,
    pub(crate) out: *mut f64,
}

/// The machine code of the kernels of one role.
pub(crate) struct Code {
    entries: Vec<Entry>,
    /// Bytes of code.
    pub(crate) bytes: usize,
    _memory: Memory,
}

// SAFETY: the module is not touched after `Code::new` until drop, which has the only reference; the code writes its own
// stack, and what the caller gives it as `out` and `buffer` alone.
unsafe impl Sync for Code {}

impl Code {
    /// Compiles routines.
    pub(crate) fn new(routines: &[Routine], strategy: Strategy) -> Result<Code, JitError> {
        let efforts = routines.iter().map(|routine| strategy.effort(routine));
        let effort =
            if efforts.into_iter().all(|effort| effort == Effort::Best) { Effort::Best } else { Effort::Quick };
        let mut builder = JITBuilder::with_isa(host::isa(effort)?, Box::new(libcall));
        builder.symbol_lookup_fn(Box::new(|name| libm::find(name).map(libm::Function::address)));
        let mut memory = Memory(Some(JITModule::new(builder)));
        let Some(module) = memory.0.as_mut() else { return Err(JitError::Backend("no module".to_string())) };
        let (mut functions, mut bytes) = (Vec::with_capacity(routines.len()), 0);
        for routine in routines {
            let (function, size) = unit::define(module, None, routine)?;
            functions.push(function);
            bytes += size;
        }
        module.finalize_definitions()?;
        let entry = |&function: &FuncId| {
            let address = module.get_finalized_function(function);
            // SAFETY: the function was compiled with the signature of `Entry` in the calling convention of C.
            unsafe { std::mem::transmute::<*const u8, Entry>(address) }
        };
        Ok(Code { entries: functions.iter().map(entry).collect(), bytes, _memory: memory })
    }

    /// Runs the routine with this number.
    ///
    /// # Safety
    /// `arguments` must have passed `arguments::check` for the lengths of the buffers, and its lists must be alive. A
    /// routine without loops ignores the argument block: then `y`, `p` and `out` must have at least its lengths, and
    /// `w` that of `y` if it has directions. `buffer` must be as long as `Routine::kept` says, and must not be shared.
    /// `out` may be `p` in the kernel that prepares it, which reads no element that it writes.
    pub(crate) unsafe fn call(&self, routine: usize, buffers: Buffers, arguments: *const u64, buffer: *mut f64) {
        let Buffers { t, y, p, w, out } = buffers;
        // SAFETY: as this function demands.
        unsafe { (self.entries[routine])(t, y, p, w, out, arguments, buffer) }
    }

    /// The address of the only routine; valid while this value is alive.
    pub(crate) fn entry(&self) -> Option<Entry> {
        if let [entry] = *self.entries { Some(entry) } else { None }
    }
}

/// Runs the code of a routine without loops.
///
/// # Safety
/// Like [`Code::call`]; the `Code` must be alive.
#[inline]
pub(crate) unsafe fn call(entry: Entry, Buffers { t, y, p, w, out }: Buffers) {
    // SAFETY: as this function demands.
    unsafe { entry(t, y, p, w, out, std::ptr::null(), std::ptr::null_mut()) }
}

/// Names of the functions that the code generator may call if the processor lacks an instruction.
pub(crate) fn libcall(call: LibCall) -> String {
    match call {
        LibCall::FloorF64 => "floor".to_string(),
        LibCall::CeilF64 => "ceil".to_string(),
        LibCall::FmaF64 => "fma".to_string(),
        other => default_libcall_names()(other),
    }
}
