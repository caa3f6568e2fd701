//! Fenced code blocks of documents: each ```` ```ode ```` block is a test.

use std::path::Path;

/// A fenced block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// Words after the three backquotes: `ode`, or `ode E0201`.
    pub words: Vec<String>,
    /// The line of the fence, from 1.
    pub line: usize,
    /// The text between the fences.
    pub text: String,
}

/// All fenced blocks of a Markdown text.
pub fn blocks(markdown: &str) -> Vec<Block> {
    let mut found = Vec::new();
    let mut open: Option<(Block, usize)> = None;
    for (number, line) in markdown.lines().enumerate() {
        let inner = line.trim_start();
        let ticks = inner.chars().take_while(|c| *c == '`').count();
        match &mut open {
            Some((block, fence)) => {
                if ticks >= *fence && inner[ticks..].trim().is_empty() {
                    found.extend(open.take().map(|(block, _)| block));
                } else {
                    block.text.push_str(line);
                    block.text.push('\n');
                }
            }
            None if ticks >= 3 => {
                let words = inner[ticks..].split([' ', ',']).filter(|w| !w.is_empty()).map(str::to_owned).collect();
                open = Some((Block { words, line: number + 1, text: String::new() }, ticks));
            }
            None => {}
        }
    }
    found
}

/// Blocks of a file whose first word is `language`.
pub fn of(path: &Path, language: &str) -> Vec<Block> {
    blocks(&crate::text(path)).into_iter().filter(|b| b.words.first().is_some_and(|w| w == language)).collect()
}

#[cfg(test)]
mod tests {
    use super::blocks;

    #[test]
    fn finds_blocks_with_words_and_lines() {
        let found = blocks("a\n```ode E0201\nx = 1\n```\n````text\n```\n````\n");
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].words.as_slice(), found[0].line), (["ode".to_owned(), "E0201".to_owned()].as_slice(), 2));
        assert_eq!((found[0].text.as_str(), found[1].text.as_str()), ("x = 1\n", "```\n"));
    }
}
