//! Runs the command as a user does, in a folder of its own.

#![allow(dead_code, reason = "each test program uses a part of it")]

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Decay with a closed form: quick, and enough for most tests.
pub const DECAY: &str = "\
model decay
param k = 1
state x = 1
x' = -k*x
output half = x/2
conserve x*exp(k*t) within 1e-3
run { t = 0 .. 2; rtol = 1e-8; samples = 4 }
expect x(2) = exp(-2) within 1e-6
";

/// A folder that is empty at the start of a test, and removed after it.
pub struct Folder(pub PathBuf);

impl Folder {
    /// Creates a folder; `name` is that of the test, because tests run in parallel.
    pub fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("odec-cli-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a folder for the test");
        Folder(path)
    }

    /// Creates a folder with a file.
    pub fn with(self, name: &str, text: &str) -> Folder {
        std::fs::write(self.0.join(name), text).expect("a writable folder");
        self
    }

    /// The command, started here.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_odec"));
        command.current_dir(&self.0).args(arguments).env("NO_COLOR", "1");
        command
    }

    /// Runs it to its end.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        Ran(self.command(arguments).output().expect("the command starts"))
    }

    /// Runs it to its end with a text on standard input.
    pub fn fed(&self, arguments: &[&str], text: &str) -> Ran {
        let mut command = self.command(arguments);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the command starts");
        let mut input = child.stdin.take().expect("a pipe");
        input.write_all(text.as_bytes()).expect("the command reads");
        drop(input);
        Ran(child.wait_with_output().expect("the command ends"))
    }

    /// Text of a file.
    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
    }

    /// A file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Output of a command.
pub struct Ran(pub Output);

impl Ran {
    /// Standard output.
    pub fn out(&self) -> String {
        String::from_utf8_lossy(&self.0.stdout).into_owned()
    }

    /// Standard error.
    pub fn err(&self) -> String {
        String::from_utf8_lossy(&self.0.stderr).into_owned()
    }

    /// Fails unless the exit code is this one; never accepts a panic.
    #[track_caller]
    pub fn exits(self, code: i32) -> Ran {
        assert!(!self.err().contains("this is a bug in odec"), "{}", self.err());
        assert_eq!(self.0.status.code(), Some(code), "{}\n{}", self.out(), self.err());
        self
    }

    /// Fails unless standard error contains this.
    #[track_caller]
    pub fn says(self, text: &str) -> Ran {
        assert!(self.err().contains(text), "`{text}` is not in\n{}", self.err());
        self
    }

    /// Fails unless standard output contains this.
    #[track_caller]
    pub fn prints(self, text: &str) -> Ran {
        assert!(self.out().contains(text), "`{text}` is not in\n{}", self.out());
        self
    }
}

/// A model of the repository.
pub fn model(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
    path.to_str().expect("a readable path").to_string()
}

/// Fails unless the table is whole: each row has as many fields as the header, and the last line ends with a newline.
#[track_caller]
pub fn whole(table: &str) -> usize {
    assert!(table.ends_with('\n'), "the last row is torn: {:?}", table.lines().last());
    let columns = table.lines().next().map_or(0, |l| l.split(',').count());
    for row in table.lines() {
        assert_eq!(row.split(',').count(), columns, "{row}");
    }
    table.lines().count() - 1
}
