//! Ctrl-C, SIGTERM and SIGHUP: the first signal stops the run after its step, a later one stops immediately, but not
//! within a row. A first signal that no step notices, as during a long compilation, stops it after a few seconds.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::exit::Exit;
use crate::report;

static ASKED: AtomicBool = AtomicBool::new(false);
/// True if the run has noticed the signal.
static NOTICED: AtomicBool = AtomicBool::new(false);
/// True if a summary has said that the run was interrupted.
static TOLD: AtomicBool = AtomicBool::new(false);
static WRITING: Mutex<()> = Mutex::new(());

/// Signals within this time count as one key press, which a wrapper delivered twice.
const SAME: Duration = Duration::from_millis(300);
/// Time in which a run must notice a signal.
const NOTICE_TIMEOUT: Duration = Duration::from_secs(3);
/// Time to wait for the end of a write before the process ends: a reader may never accept it.
const WRITE_TIMEOUT: Duration = Duration::from_secs(1);

/// Installs the handler. Without it the default applies: the process ends, and written rows remain.
pub fn listen() {
    let mut first: Option<Instant> = None;
    let _ = ctrlc::set_handler(move || {
        ASKED.store(true, Ordering::Relaxed);
        match first {
            None => {
                first = Some(Instant::now());
                std::thread::spawn(|| {
                    std::thread::sleep(NOTICE_TIMEOUT);
                    if !NOTICED.load(Ordering::Relaxed) {
                        end();
                    }
                });
            }
            Some(first) if first.elapsed() < SAME => {}
            Some(_) => end(),
        }
    });
}

/// Ends the process, after the end of a write.
fn end() -> ! {
    let started = Instant::now();
    let _guard = loop {
        match WRITING.try_lock() {
            Ok(guard) => break Some(guard),
            Err(_) if started.elapsed() > WRITE_TIMEOUT => break None,
            Err(_) => std::thread::sleep(Duration::from_millis(5)),
        }
    };
    tell();
    std::process::exit(i32::from(Exit::Interrupted.code()));
}

/// True if the run should stop.
pub fn asked_to_stop() -> bool {
    let asked = ASKED.load(Ordering::Relaxed);
    if asked {
        NOTICED.store(true, Ordering::Relaxed);
    }
    asked
}

/// Notes that a summary says that the run was interrupted.
pub fn told() {
    TOLD.store(true, Ordering::Relaxed);
}

/// Says that a signal stopped the command, unless a summary has said it.
pub fn tell() {
    if !TOLD.swap(true, Ordering::Relaxed) {
        report::say("stopped by Ctrl-C, SIGTERM or SIGHUP\n");
    }
}

/// While this guard is held, a later Ctrl-C waits.
pub fn writing() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
