//! How long a fuzz target goes on, and tests that are left out: shared by test programs of several crates.

use std::io::Write;
use std::time::{Duration, Instant};

/// Seconds of a target where `FUZZ_SECONDS` does not say otherwise.
const SECONDS: u64 = 60;

/// A whole number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().unwrap_or_else(|_| panic!("{name}={text} is not a whole number")))
}

/// Seeds, one for each input of a fuzz target: from `FUZZ_SEED` on, so many as `FUZZ_INPUTS` says, or until
/// `FUZZ_SECONDS` have passed. Without a first seed, the clock gives it, so that every run looks at other inputs.
/// Says at the end what it has done; after a failure, `FUZZ_SEED=... FUZZ_INPUTS=1` repeats it with the seed that
/// the message names.
#[derive(Debug)]
pub struct Seeds {
    target: &'static str,
    next: u64,
    made: u64,
    most: Option<u64>,
    end: Instant,
}

impl Seeds {
    /// For a target of this name.
    pub fn new(target: &'static str) -> Seeds {
        let clock = || std::time::UNIX_EPOCH.elapsed().map_or(0, |t| t.as_secs() * 1_000_000);
        let next = number("FUZZ_SEED").unwrap_or_else(clock);
        let end = Instant::now() + Duration::from_secs(number("FUZZ_SECONDS").unwrap_or(SECONDS));
        say(&format!("fuzz {target}: from FUZZ_SEED={next} on"));
        Seeds { target, next, made: 0, most: number("FUZZ_INPUTS"), end }
    }
}

impl Iterator for Seeds {
    type Item = u64;

    fn next(&mut self) -> Option<u64> {
        let done = self.most.map_or_else(|| Instant::now() >= self.end, |most| self.made >= most);
        if done {
            say(&format!("fuzz {}: {} inputs", self.target, self.made));
            return None;
        }
        self.made += 1;
        self.next += 1;
        Some(self.next - 1)
    }
}

/// Names the seed where a check of it panics.
pub fn with_seed<T>(seed: u64, check: impl FnOnce() -> T) -> T {
    struct Guard(u64);
    impl Drop for Guard {
        fn drop(&mut self) {
            if std::thread::panicking() {
                say(&format!("fuzz: this was FUZZ_SEED={} FUZZ_INPUTS=1", self.0));
            }
        }
    }
    let _guard = Guard(seed);
    check()
}

/// Says that a test, or a part of one, is left out, and why: seen also where what passing tests print is not, and
/// counted by `.ci/run`.
pub fn skipped(why: &str) {
    say(&format!("skipped: {why}"));
}

/// A line past the capture of what tests print.
fn say(line: &str) {
    drop(writeln!(std::io::stderr(), "{line}"));
}
