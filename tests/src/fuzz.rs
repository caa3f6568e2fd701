//! Duration of fuzz targets, and tests that are left out: shared by test programs of several crates.

use std::io::Write;
use std::sync::Mutex;
use std::time::{Duration, Instant};

/// Duration of a target in seconds without `FUZZ_SECONDS`.
const SECONDS: u64 = 60;
/// Largest memory of the test program in bytes, and longest time for one input: beyond them the target fails, before
/// the system kills it without naming the seed.
const MAX_MEMORY: u64 = 3 << 30;
const MAX_TIME: Duration = Duration::from_mins(2);
/// Interval of the checks.
const LOOK: Duration = Duration::from_millis(100);

/// The seeds that are being tried.
static TRIED: Mutex<Vec<(u64, Instant)>> = Mutex::new(Vec::new());

/// Integer from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number")))
}

/// Seeds, one for each input of a fuzz target, starting at `FUZZ_SEED`. They end after `FUZZ_INPUTS` seeds or after
/// `FUZZ_SECONDS`, whichever comes first. Without `FUZZ_SEED` the clock gives the first seed, so that every run uses
/// other inputs. To repeat a failure, set `FUZZ_SEED` to the seed in the message, and `FUZZ_INPUTS=1`.
#[derive(Debug)]
pub struct Seeds {
    target: &'static str,
    next: u64,
    made: u64,
    most: Option<u64>,
    end: Instant,
}

impl Seeds {
    /// Creates the seeds for a target of this name.
    pub fn new(target: &'static str) -> Seeds {
        let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() * 1_000_000);
        let next = number("FUZZ_SEED").unwrap_or_else(clock);
        let end = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(SECONDS));
        say(&format!("fuzz {target}: from FUZZ_SEED={next} on"));
        std::thread::spawn(watch);
        Seeds { target, next, made: 0, most: number("FUZZ_INPUTS"), end }
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let done = self.most.is_some_and(|most| self.made >= most) || Instant::now() >= self.end;
        if done {
            say(&format!("fuzz {}: {} inputs", self.target, self.made));
            return None;
        }
        self.made += 1;
        self.next += 1;
        Some(self.next - 1)
    }
}

/// Runs a check, and names the seed if it panics or takes too much time or memory.
pub fn with_seed<T>(seed: u64, check: impl FnOnce() -> T) -> T {
    struct Guard(u64);
    impl Drop for Guard {
        fn drop(&mut self) {
            let mut tried = tried();
            if let Some(k) = tried.iter().position(|(seed, _)| *seed == self.0) {
                tried.swap_remove(k);
            }
            drop(tried);
            if std::thread::panicking() {
                say(&format!("fuzz: this was FUZZ_SEED={} FUZZ_INPUTS=1", self.0));
            }
        }
    }
    tried().push((seed, Instant::now()));
    let _guard = Guard(seed);
    check()
}

fn tried() -> std::sync::MutexGuard<'static, Vec<(u64, Instant)>> {
    TRIED.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// Ends the test program if it uses more than [`MAX_MEMORY`], or an input takes longer than [`MAX_TIME`].
fn watch() {
    loop {
        std::thread::sleep(LOOK);
        let full = memory().is_some_and(|bytes| bytes > MAX_MEMORY);
        let slow = tried().iter().any(|(_, begun)| begun.elapsed() > MAX_TIME);
        if full || slow {
            let what = if full { "memory" } else { "time" };
            let seeds: Vec<String> = tried().iter().map(|(seed, _)| seed.to_string()).collect();
            say(&format!("fuzz: too much {what} with FUZZ_INPUTS=1 and one of FUZZ_SEED={}", seeds.join(", ")));
            std::process::exit(1);
        }
    }
}

/// Bytes of memory of this program, if the system reports it.
fn memory() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// Reports that a test, or a part of one, is left out, with the reason. The message is visible even if the output of
/// passing tests is hidden, and `.ci/run` counts it.
pub fn skipped(why: &str) {
    say(&format!("skipped: {why}"));
}

/// Prints a line that bypasses the captured output of tests.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}
