//! Ctrl-C: the first asks the run to stop after its step, the second stops at once.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::exit::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens. A failure to do so leaves the default: the process ends, whole rows already written stay.
pub fn listen() {
    let _ = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::Relaxed) {
            std::process::exit(Exit::Interrupted as i32);
        }
    });
}

/// True once the run should stop.
pub fn asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}
