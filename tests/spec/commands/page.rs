//! Blocks of a page.

/// Languages of blocks that hold no commands.
const OTHER: &[&str] = &["yaml", "hcl", "mermaid", "rust", "toml", "json"];

/// A fenced block that may hold commands.
pub struct Block {
    /// The line of its fence.
    pub line: usize,
    /// Its content.
    pub text: String,
}

/// Every block of a page that may hold commands.
pub fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(bool, Block)> = None;
    for (number, line) in page.lines().enumerate() {
        match (line.trim_start().strip_prefix("```"), open.take()) {
            (Some(language), None) => {
                let block = Block {
                    line: number + 1,
                    text: String::new(),
                };
                open = Some((OTHER.contains(&language), block));
            }
            (Some(_), Some((other, block))) => blocks.extend((!other).then_some(block)),
            (None, Some((other, mut block))) => {
                block.text += line;
                block.text.push('\n');
                open = Some((other, block));
            }
            (None, None) => {}
        }
    }
    blocks
}

/// The first complete spec of a page.
pub fn spec(page: &str) -> String {
    let specs = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split("```").next());
    specs
        .into_iter()
        .find(|spec| spec.contains("kind: Cluster\n"))
        .unwrap()
        .to_owned()
}

/// Lines without the prompt of a console.
pub fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().map(|line| line.strip_prefix("$ ").unwrap_or(line))
}

/// The commands of a console: the text after each prompt.
pub fn prompted(text: &str) -> String {
    let commands = text.lines().filter_map(|line| line.strip_prefix("$ "));
    commands.map(|line| format!("{line}\n")).collect()
}
