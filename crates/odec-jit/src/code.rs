//! Machine code in memory: who owns it, and the one place that calls it.

use cranelift_codegen::ir::LibCall;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, default_libcall_names};
use odec_ir::schedule::Schedule;

use crate::host::Effort;
use crate::nest::Plan;
use crate::{JitError, Strategy, host, libm, unit};

pub(crate) type Entry = unsafe extern "C" fn(f64, *const f64, *const f64, *const f64, *mut f64);
type NestEntry = unsafe extern "C" fn(f64, *const f64, *const f64, *const f64, *mut f64, *const u64, *mut f64);

/// A module whose memory is freed with it: the library's own leaks it.
struct Memory(Option<JITModule>);

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(module) = self.0.take() {
            // SAFETY: the addresses of the code are in the `Code` that owns this, or in `Code::new` before it gave one;
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

/// An empty module for code of this process.
fn module(effort: Effort) -> Result<Memory, JitError> {
    let mut builder = JITBuilder::with_isa(host::isa(effort)?, Box::new(libcall));
    builder.symbol_lookup_fn(Box::new(|name| libm::find(name).map(libm::Function::address)));
    Ok(Memory(Some(JITModule::new(builder))))
}

/// The machine code of the nests of one role.
pub(crate) struct NestCode {
    entries: Vec<NestEntry>,
    /// Bytes of code.
    pub(crate) bytes: usize,
    _memory: Memory,
}

// SAFETY: as for `Code`.
unsafe impl Sync for NestCode {}

impl NestCode {
    /// Compiles nests.
    pub(crate) fn new(plans: &[Plan], strategy: Strategy) -> Result<NestCode, JitError> {
        let steps = plans.iter().map(|plan| plan.steps).max().unwrap_or(0);
        let mut memory = module(strategy.effort_of_nest(steps))?;
        let Some(module) = memory.0.as_mut() else { return Err(JitError::Backend(String::new())) };
        let (mut functions, mut bytes) = (Vec::with_capacity(plans.len()), 0);
        for plan in plans {
            let (function, size) = unit::define_nest(module, plan)?;
            functions.push(function);
            bytes += size;
        }
        module.finalize_definitions()?;
        let entry = |&function: &FuncId| {
            let address = module.get_finalized_function(function);
            // SAFETY: the function was compiled with the signature of `NestEntry` in the calling convention of C.
            unsafe { std::mem::transmute::<*const u8, NestEntry>(address) }
        };
        Ok(NestCode { entries: functions.iter().map(entry).collect(), bytes, _memory: memory })
    }

    /// Runs the nest of this number.
    ///
    /// # Safety
    /// `frame` passed `frames::check` for the lengths of the buffers, and its lists are alive; `kept` is as long as
    /// `Plan::kept` says and nobody else's.
    pub(crate) unsafe fn call(&self, nest: usize, buffers: Buffers, frame: *const u64, kept: *mut f64) {
        let Buffers { t, y, p, w, out } = buffers;
        // SAFETY: as this function demands.
        unsafe { (self.entries[nest])(t, y, p, w, out, frame, kept) }
    }
}

/// The machine code of one kernel.
pub(crate) struct Code {
    entry: Entry,
    /// Bytes of code.
    pub(crate) bytes: usize,
    _memory: Memory,
}

// SAFETY: the module is not touched after `Code::new` until drop, which has the only reference; the code writes its own
// stack and the caller's `out` alone.
unsafe impl Sync for Code {}

impl Code {
    /// Compiles a schedule that went through `lower::check`.
    pub(crate) fn new(schedule: &Schedule, strategy: Strategy) -> Result<Code, JitError> {
        let mut memory = module(strategy.effort(schedule))?;
        let Some(module) = memory.0.as_mut() else { return Err(JitError::Backend(String::new())) };
        let (kernel, bytes) = unit::define(module, "kernel", Linkage::Export, schedule, strategy)?;
        module.finalize_definitions()?;
        let address = module.get_finalized_function(kernel);
        // SAFETY: the function was compiled with the signature of `Entry` in the calling convention of C.
        let entry = unsafe { std::mem::transmute::<*const u8, Entry>(address) };
        Ok(Code { entry, bytes, _memory: memory })
    }

    /// Runs the kernel.
    ///
    /// # Safety
    /// `y`, `p` and `out` have at least the lengths in the schedule, `w` that of `y` if the schedule has directions.
    /// `out` may be `p` in the kernel that prepares it, which reads no element that it writes.
    pub(crate) unsafe fn call(&self, buffers: Buffers) {
        // SAFETY: as this function demands.
        unsafe { call(self.entry, buffers) }
    }

    /// Where the code begins; to be called while this is alive.
    pub(crate) fn entry(&self) -> Entry {
        self.entry
    }
}

/// Runs the code that begins there.
///
/// # Safety
/// As for [`Code::call`], for a `Code` that is alive.
#[inline]
pub(crate) unsafe fn call(entry: Entry, Buffers { t, y, p, w, out }: Buffers) {
    // SAFETY: as this function demands.
    unsafe { entry(t, y, p, w, out) }
}

/// Names of the functions that the code generator itself may call, where the processor lacks an instruction.
pub(crate) fn libcall(call: LibCall) -> String {
    match call {
        LibCall::FloorF64 => "floor".to_string(),
        LibCall::CeilF64 => "ceil".to_string(),
        LibCall::FmaF64 => "fma".to_string(),
        other => default_libcall_names()(other),
    }
}
