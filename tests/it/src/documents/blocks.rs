//! Blocks of code in a document.

/// A block between lines of three backticks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Block {
    /// The number of its first line in the document.
    pub(super) line: usize,
    /// The heading above it.
    pub(super) heading: String,
    /// The word behind the backticks; empty if there is none.
    pub(super) language: String,
    pub(super) text: String,
}

impl Block {
    /// The blocks of a document.
    pub(super) fn all(markdown: &str) -> Vec<Block> {
        let mut blocks: Vec<Block> = Vec::new();
        let mut heading = "";
        let mut inside = false;
        for (index, line) in markdown.lines().enumerate() {
            if let Some(language) = line.trim_start().strip_prefix("```") {
                if !inside {
                    blocks.push(Block {
                        line: index + 1,
                        heading: heading.to_owned(),
                        language: language.to_owned(),
                        text: String::new(),
                    });
                }
                inside = !inside;
            } else if inside {
                let block = blocks.last_mut().expect("the text is inside of one");
                block.text.push_str(line);
                block.text.push('\n');
            } else if line.starts_with('#') {
                heading = line;
            }
        }
        blocks
    }

    /// True if a reader is meant to type it.
    pub(super) fn is_commands(&self) -> bool {
        self.language == "bash"
    }

    /// Its commands, a line each, without what the line says of them.
    pub(super) fn commands(&self) -> impl Iterator<Item = &str> {
        let lines = self.text.lines();
        let commands = lines.map(|line| line.split(" #").next().unwrap_or(line).trim());
        commands.filter(|command| !command.is_empty())
    }
}

/// The output that a document shows of each block of commands: the next block of its section, if that is
/// text or JSON.
pub(super) fn with_outputs(blocks: &[Block]) -> Vec<(&Block, Option<&Block>)> {
    let commands = blocks.iter().enumerate();
    let commands = commands.filter(|(_, block)| block.is_commands());
    let pairs = commands.map(|(index, block)| {
        let next = blocks.get(index + 1).filter(|next| {
            next.heading == block.heading && ["text", "json"].contains(&&*next.language)
        });
        (block, next)
    });
    pairs.collect()
}

#[test]
fn a_block_of_commands_has_the_output_that_follows_in_its_section() {
    let text = "# A\n```bash\nxav list   # all\n\nxav show a\n```\nprints\n```text\none\n```\n\
                ```bash\nxav run\n```\n## B\n```text\nfiles\n```\n";
    let blocks = Block::all(text);
    let pairs = with_outputs(&blocks);
    assert_eq!(pairs.len(), 2);
    let commands: Vec<&str> = pairs[0].0.commands().collect();
    assert_eq!(commands, ["xav list", "xav show a"]);
    assert_eq!(pairs[0].1.unwrap().text, "one\n");
    assert_eq!((pairs[1].0.line, pairs[1].1), (11, None));
}
