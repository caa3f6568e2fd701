//! Ctrl-C, SIGTERM and SIGHUP: the first asks the run to stop after its step, a later one stops at once, but not in the middle
//! of a row.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::exit::Exit;

static ASKED: AtomicBool = AtomicBool::new(false);
static WRITING: Mutex<()> = Mutex::new(());

/// Signals that follow this soon are the same key press, delivered twice by a wrapper.
const SAME: Duration = Duration::from_millis(300);
/// How long the end of a write is awaited before the process ends all the same: a reader may never take it.
const PATIENCE: Duration = Duration::from_secs(1);

/// Listens. A failure to do so leaves the default: the process ends, whole rows already written stay.
pub fn listen() {
    let mut first: Option<Instant> = None;
    let _ = ctrlc::set_handler(move || {
        ASKED.store(true, Ordering::Relaxed);
        let first = *first.get_or_insert_with(Instant::now);
        if first.elapsed() < SAME {
            return;
        }
        let started = Instant::now();
        let _guard = loop {
            match WRITING.try_lock() {
                Ok(guard) => break Some(guard),
                Err(_) if started.elapsed() > PATIENCE => break None,
                Err(_) => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        std::process::exit(i32::from(Exit::Interrupted.code()));
    });
}

/// True once the run should stop.
pub fn asked_to_stop() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// While this is held, a later Ctrl-C waits.
pub fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
