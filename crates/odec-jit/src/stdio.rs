//! Two requests to the system about the files of the process. Both need `unsafe` and are therefore in this crate.
//!
//! The first detects whether standard output was closed when the process began. The runtime of Rust opens `/dev/null` in
//! its place before `main`, so that rows would vanish without an error. The check must run before that runtime. The second
//! turns a file that becomes too long into an error.

use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// True if standard output was closed when the process began; false on systems other than Linux and macOS.
pub fn stdout_was_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Makes a write beyond the limit of the system on the length of a file (`ulimit -f`) an error of that write. Without this, the
/// system ends the process without a word. Nothing happens on systems other than Linux and macOS.
pub fn report_long_files() {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    {
        /// The signal (its number on Linux for all processors that odec compiles for, and on macOS).
        const SIGXFSZ: i32 = 25;
        /// The handler that ignores a signal.
        const SIG_IGN: usize = 1;
        unsafe extern "C" {
            fn signal(number: i32, handler: usize) -> usize;
        }
        // SAFETY: `SIG_IGN` runs no code when the signal comes, and no other part of odec handles this signal.
        let _ = unsafe { signal(SIGXFSZ, SIG_IGN) };
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
mod before_main {
    use super::{CLOSED, Ordering};

    /// The descriptor of standard output (POSIX.1, `unistd.h`).
    const STDOUT: i32 = 1;
    /// Command of `fcntl` that reads the flags of a descriptor.
    const F_GETFD: i32 = 1;

    unsafe extern "C" {
        fn fcntl(descriptor: i32, command: i32, ...) -> i32;
    }

    extern "C" fn look() {
        // SAFETY: with F_GETFD, fcntl takes no further argument and changes nothing; for a closed descriptor it returns -1.
        let flags = unsafe { fcntl(STDOUT, F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }

    // SAFETY: the loader calls the functions of this section, one after the other, before `main`; `look` does not
    // need the runtime, and ignores the arguments that glibc passes.
    #[used]
    #[cfg_attr(target_os = "linux", unsafe(link_section = ".init_array"))]
    #[cfg_attr(target_os = "macos", unsafe(link_section = "__DATA,__mod_init_func"))]
    static LOOK: extern "C" fn() = look;
}
