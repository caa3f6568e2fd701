//! Colours of messages for users.

/// Colours, or none.
#[derive(Clone, Copy, Debug)]
pub struct Paint(pub bool);

impl Paint {
    fn wrap(self, code: &str, text: &str) -> String {
        if self.0 { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }

    /// Emphasised.
    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    /// For the background: labels, units.
    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// For success.
    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    /// For warnings.
    pub fn yellow(self, text: &str) -> String {
        self.wrap("33;1", text)
    }

    /// For errors.
    pub fn red(self, text: &str) -> String {
        self.wrap("31;1", text)
    }

    /// For notes.
    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }
}
