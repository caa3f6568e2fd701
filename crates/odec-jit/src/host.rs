//! Settings of the code generator for this computer, made once per process.

use std::sync::{Arc, OnceLock};

use cranelift_codegen::isa::TargetIsa;
use cranelift_codegen::settings::{self, Configurable};

use crate::JitError;

/// The compile time spent on a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Effort {
    /// Register allocation by backtracking: the fastest code; for short functions.
    Best,
    /// Register allocation in one pass: linear time; for the parts of long kernels, which wait for memory anyway.
    Quick,
    /// Like `Best`, for code that may be linked anywhere.
    Object,
}

/// The target for an effort. Targets are shared, because building one takes a tenth of the compile time of a small model.
pub(crate) fn isa(effort: Effort) -> Result<Arc<dyn TargetIsa>, JitError> {
    static ISAS: [OnceLock<Result<Arc<dyn TargetIsa>, JitError>>; 3] = [const { OnceLock::new() }; 3];
    ISAS[effort as usize].get_or_init(|| build(effort)).clone()
}

fn build(effort: Effort) -> Result<Arc<dyn TargetIsa>, JitError> {
    let backend = |error: &dyn std::fmt::Display| JitError::Backend(error.to_string());
    let mut flags = settings::builder();
    let allocator = if effort == Effort::Quick { "single_pass" } else { "backtracking" };
    let verify = if cfg!(debug_assertions) { "true" } else { "false" };
    let pic = if effort == Effort::Object { "true" } else { "false" };
    for (name, value) in [
        ("opt_level", "none"),
        ("regalloc_algorithm", allocator),
        ("enable_verifier", verify),
        ("is_pic", pic),
        // Kernels call no function that unwinds.
        ("unwind_info", "false"),
        // Frames that hold a long kernel's intermediate values exceed a page.
        ("enable_probestack", "true"),
        ("probestack_strategy", "inline"),
    ] {
        flags.set(name, value).map_err(|error| backend(&error))?;
    }
    // An object file may run on another computer of this kind, so it uses the base instruction set.
    let builder = cranelift_native::builder_with_options(effort != Effort::Object)
        .map_err(|why| JitError::UnsupportedHost(why.to_string()))?;
    builder.finish(settings::Flags::new(flags)).map_err(|error| backend(&error))
}

/// True if this processor has a fused multiply-add instruction. Otherwise the code calls a function, which is correct
/// but slow.
#[must_use]
pub fn fuses() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        std::arch::is_x86_feature_detected!("fma")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}
