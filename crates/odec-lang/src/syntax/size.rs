//! The size of a text before it is parsed: how many words, numbers and signs it has, and how many events.

use super::keyword;

/// Sizes of a text, comments left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextSize {
    /// Words, numbers and signs.
    pub tokens: usize,
    /// Lines that begin an event.
    pub events: usize,
}

impl TextSize {
    /// Counts them in one pass.
    pub fn of(text: &str) -> TextSize {
        let mut size = TextSize::default();
        for line in text.split(['\n', '\r']) {
            // a `#` in a text between quotes ends the count early, which is no harm: such texts name files and columns
            let line = line.split('#').next().unwrap_or_default();
            let first = keyword::first_word(line.trim_start());
            size.events += usize::from(matches!(first, "when" | "at" | "every"));
            let mut inside = false;
            for c in line.chars() {
                let word = keyword::is_name_char(c) || c == '.';
                size.tokens += usize::from(!(c.is_whitespace() || word && inside));
                inside = word;
            }
        }
        size
    }
}

#[cfg(test)]
mod tests {
    use super::TextSize;

    #[test]
    fn words_numbers_and_signs_are_counted_without_comments() {
        let of = |text| TextSize::of(text);
        assert_eq!(of(""), TextSize::default());
        assert_eq!(of("# a comment\n  \r\n## another"), TextSize::default());
        assert_eq!(of("x' = -k1*x + 0.5 # decay"), TextSize { tokens: 9, events: 0 });
        assert_eq!(of("\u{e4}' = 1\r\n  when x<1 { x := 2 }\nat 5 { x := 1 }"), TextSize { tokens: 22, events: 2 });
    }
}
