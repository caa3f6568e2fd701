//! C functions that call Rust functions: for kernels whose code takes more arguments than C callers pass.

use cranelift_codegen::ir::{AbiParam, InstBuilder};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::Module;

use crate::JitError;
use crate::abi::{self, Abi};
use crate::code::{Memory, libcall};
use crate::host::{self, Effort};
use crate::unit::finish;

/// The Rust function: time, state, parameters, direction, result.
type Run = dyn Fn(f64, &[f64], &[f64], &[f64], &mut [f64]) + Send + Sync;

/// Numbers of elements behind the pointers of a caller.
#[derive(Clone, Copy, Debug)]
pub struct Extents {
    /// Length of the state.
    pub y: usize,
    /// Length of the parameters.
    pub p: usize,
    /// Length of the direction; 0 if there is none, and the pointer is ignored.
    pub w: usize,
    /// Length of the result.
    pub out: usize,
}

/// The data that the code of a callback refers to.
struct Context {
    extents: Extents,
    run: Box<Run>,
}

/// A C function that calls a Rust function. It is immutable: any number of threads may call it.
pub struct Callback {
    address: usize,
    _memory: Memory,
    /// The code contains its address.
    _context: Box<Context>,
}

// SAFETY: the module is not touched after `Callback::new` until drop, and what the code refers to may be shared.
unsafe impl Sync for Callback {}

impl Callback {
    /// Makes the function `void (double t, const double *y, const double *p, const double *w, double *out)` that calls
    /// `run`. A panic of `run` ends the process, since a C caller cannot handle it.
    ///
    /// # Errors
    /// The operating system refuses memory for code.
    pub fn new(
        extents: Extents,
        run: impl Fn(f64, &[f64], &[f64], &[f64], &mut [f64]) + Send + Sync + 'static,
    ) -> Result<Callback, JitError> {
        let context = Box::new(Context { extents, run: Box::new(run) });
        let builder = JITBuilder::with_isa(host::isa(Effort::Quick)?, Box::new(libcall));
        let mut memory = Memory(Some(JITModule::new(builder)));
        let Some(module) = memory.0.as_mut() else { return Err(JitError::Backend("no module".to_string())) };
        let config = module.target_config();
        let abi = Abi { pointer: config.pointer_type(), convention: config.default_call_conv };
        let id = module.declare_anonymous_function(&abi.exported())?;
        let mut code = module.make_context();
        code.func.signature = abi.exported();
        let (mut pos, mut args) = abi::begin(&mut code.func);
        let mut called = abi.exported();
        called.params.push(AbiParam::new(abi.pointer));
        let called = pos.func.import_signature(called);
        args.push(pos.ins().iconst(abi.pointer, &raw const *context as i64));
        let function = pos.ins().iconst(abi.pointer, invoke as *const () as i64);
        pos.ins().call_indirect(called, function, &args);
        pos.ins().return_(&[]);
        finish(module, id, &mut code)?;
        module.finalize_definitions()?;
        let address = module.get_finalized_function(id) as usize;
        Ok(Callback { address, _memory: memory, _context: context })
    }

    /// The address of its code, which is valid while this value is alive.
    pub fn address(&self) -> usize {
        self.address
    }
}

/// Calls the function of a context.
///
/// # Safety
/// The pointers lead to as many elements as the extents of the context say, `out` to some that nothing else refers to.
unsafe extern "C" fn invoke(
    t: f64,
    y: *const f64,
    p: *const f64,
    w: *const f64,
    out: *mut f64,
    context: *const Context,
) {
    // SAFETY: the address is that of the context of a callback, which is alive while its code is.
    let Context { extents, run } = unsafe { &*context };
    // SAFETY: as this function demands.
    let given = |from: *const f64, length: usize| -> &[f64] {
        if length == 0 { &[] } else { unsafe { std::slice::from_raw_parts(from, length) } }
    };
    let result: &mut [f64] =
        // SAFETY: as this function demands.
        if extents.out == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(out, extents.out) } };
    run(t, given(y, extents.y), given(p, extents.p), given(w, extents.w), result);
}
