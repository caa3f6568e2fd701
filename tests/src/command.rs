//! The command `odec` as a user runs it: built once per test process, started with a time limit.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time limit of a command. No command of a test takes nearly as long, even unoptimised on a busy machine; longer
/// ones hang.
const LIMIT: Duration = Duration::from_mins(2);

/// The command, built with the profile of the tests.
pub fn odec() -> &'static Path {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    PATH.get_or_init(|| {
        // target/debug/deps/this-test
        let this = std::env::current_exe().expect("the path of this test");
        let folder = this.parent().and_then(Path::parent).expect("a target folder");
        let mut build = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        build.current_dir(crate::root()).args(["build", "--quiet", "-p", "odec-cli", "--bin", "odec"]);
        if folder.file_name().is_some_and(|n| n == "release") {
            build.arg("--release");
        }
        if let Some(target) = folder.parent() {
            build.arg("--target-dir").arg(target);
        }
        let status = build.status().expect("cargo runs");
        assert!(status.success(), "odec does not build");
        folder.join(format!("odec{}", std::env::consts::EXE_SUFFIX))
    })
}

/// Result of a command.
#[derive(Debug)]
pub struct Ran {
    /// Exit code; `None` if a signal ended it.
    pub code: Option<i32>,
    /// Standard output.
    pub out: Vec<u8>,
    /// Standard error, with invalid UTF-8 replaced.
    pub err: String,
}

impl Ran {
    /// Standard output as text.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.out).into_owned()
    }

    /// Fails unless the exit code is 0.
    #[track_caller]
    pub fn success(self) -> Ran {
        assert_eq!(self.code, Some(0), "{}\n{}", self.text(), self.err);
        self
    }

    /// Fails if the program panicked or died of a signal.
    #[track_caller]
    pub fn orderly(self) -> Ran {
        let panicked =
            self.err.contains("panicked at") || self.err.contains("RUST_BACKTRACE") || self.code == Some(101);
        assert!(self.code.is_some() && !panicked, "{:?}\n{}", self.code, self.err);
        self
    }
}

/// Runs `odec` with these arguments in the top folder of the repository.
#[track_caller]
pub fn run<A: AsRef<std::ffi::OsStr>>(arguments: &[A]) -> Ran {
    run_in(&crate::root(), arguments, &[])
}

/// Runs `odec` in a folder, with bytes for standard input.
#[track_caller]
pub fn run_in<A: AsRef<std::ffi::OsStr>>(folder: &Path, arguments: &[A], input: &[u8]) -> Ran {
    let mut command = Command::new(odec());
    command.current_dir(folder).args(arguments);
    // settings of the terminal and the user that would change the output
    command.env("NO_COLOR", "1").env("COLUMNS", "100").env("LC_ALL", "C.UTF-8").env_remove("RUST_BACKTRACE");
    finish(command, input)
}

/// Starts a command, writes its input, collects its output, and kills it after the time limit.
#[track_caller]
pub fn finish(mut command: Command, input: &[u8]) -> Ran {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let started = Instant::now();
    let mut child = command.spawn().unwrap_or_else(|e| panic!("{command:?}: {e}"));
    let mut stdin = child.stdin.take().expect("piped");
    let mut stdout = child.stdout.take().expect("piped");
    let mut stderr = child.stderr.take().expect("piped");
    let (out, err, status) = std::thread::scope(|scope| {
        // a command that does not read its input closes the pipe, which is not an error
        scope.spawn(move || drop(stdin.write_all(input)));
        let out = scope.spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).map(|_| bytes)
        });
        let err = scope.spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).map(|_| bytes)
        });
        let status = loop {
            if let Some(status) = child.try_wait().expect("a child of this process") {
                break status;
            }
            if started.elapsed() > LIMIT {
                drop(child.kill());
                panic!("{command:?} is still running after {LIMIT:?}");
            }
            std::thread::sleep(Duration::from_millis(2));
        };
        (out.join().expect("no panic"), err.join().expect("no panic"), status)
    });
    Ran {
        code: status.code(),
        out: out.expect("a readable pipe"),
        err: String::from_utf8_lossy(&err.expect("a readable pipe")).into_owned(),
    }
}

/// Creates an empty folder for the files of one test, next to the compiled tests.
pub fn scratch(name: &str) -> PathBuf {
    let this = std::env::current_exe().expect("the path of this test");
    let folder = this.parent().and_then(Path::parent).expect("a target folder").join("odec-tests-scratch").join(name);
    drop(std::fs::remove_dir_all(&folder));
    std::fs::create_dir_all(&folder).expect("a writable target folder");
    folder
}
