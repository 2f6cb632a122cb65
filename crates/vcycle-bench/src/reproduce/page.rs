//! The comparison as one HTML page that needs nothing else: the Markdown, with its charts inside.

use vcycle_plot::escape;

const HEAD: &str = r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, reproduced with vcycle</title>
<style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 0 auto; padding: 1rem; color: #1b1f24; }
table { border-collapse: collapse; font-size: 0.9rem; display: block; overflow-x: auto; }
td { padding: 0.25rem 0.7rem; border-bottom: 1px solid #ddd; }
tr:first-child td { font-weight: 600; }
svg { width: 100%; max-width: 36rem; height: auto; display: block; margin: 1rem 0; }
@media (max-width: 40rem) { table { font-size: 0.75rem; } td { padding: 0.2rem 0.25rem; } ul { padding-left: 1.2rem; } }
</style>
</head>
<body>
"#;

/// The page of a Markdown text, with the file of every chart in place of its name. It is that of [`markdown`](super::markdown):
/// headings, paragraphs, lists, tables, images, and links to headings.
pub(super) fn of(markdown: &str, charts: impl Fn(&str) -> Option<String>) -> String {
    let mut page = HEAD.to_owned();
    let mut open = "";
    for line in markdown.lines() {
        let block = match line.chars().next() {
            Some('|') => "table",
            Some('-') => "ul",
            Some('#' | '!') | None => "",
            Some(_) => "p",
        };
        if block != open {
            for (name, bracket) in [(open, "</"), (block, "<")] {
                if !name.is_empty() {
                    page += &format!("{bracket}{name}>\n");
                }
            }
            open = block;
        }
        page += &match block {
            "table" if line.starts_with("|---") => String::new(),
            "table" => {
                let cells = line.trim_matches('|').split('|');
                let cells: String = cells
                    .map(|cell| format!("<td>{}</td>", inline(cell.trim())))
                    .collect();
                format!("<tr>{cells}</tr>\n")
            }
            "ul" => format!("<li>{}</li>\n", inline(line.trim_start_matches("- "))),
            _ if line.starts_with('!') => {
                let file = line.rsplit(['(', ')', '/']).nth(1).unwrap_or_default();
                charts(file).unwrap_or_default()
            }
            _ if line.starts_with('#') => {
                let (marks, text) = line.split_once(' ').unwrap_or(("#", line));
                let (level, id) = (marks.len(), anchor(text));
                format!("<h{level} id=\"{id}\">{}</h{level}>\n", inline(text))
            }
            _ => inline(line) + "\n",
        };
    }
    page + "</body>\n</html>\n"
}

/// What Markdown makes of a heading.
pub(super) fn anchor(heading: &str) -> String {
    let kept = |c: &char| c.is_alphanumeric() || "-_ ".contains(*c);
    let heading = heading.to_lowercase();
    heading
        .chars()
        .filter(kept)
        .collect::<String>()
        .replace(' ', "-")
}

/// Text in which backticks mark code and brackets links.
fn inline(text: &str) -> String {
    let part = |(place, part): (usize, &str)| match place % 2 {
        0 => linked(part),
        _ => format!("<code>{}</code>", escape(part)),
    };
    text.split('`').enumerate().map(part).collect()
}

fn linked(text: &str) -> String {
    let link = || {
        let (before, rest) = text.split_once('[')?;
        let (name, rest) = rest.split_once("](")?;
        let (target, after) = rest.split_once(')')?;
        let [before, name, target] = [before, name, target].map(escape);
        Some(format!(
            "{before}<a href=\"{target}\">{name}</a>{}",
            linked(after)
        ))
    };
    link().unwrap_or_else(|| escape(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_what_the_markdown_has() {
        let text = "# A: b\n\nWith `a < b` and [c](#a-b).\n\n| x | y |\n|---|---:|\n| 1 | 2 |\n\n- one\n\n![d](e/f.svg)\n";
        let page = of(text, |file| {
            Some(format!("<svg><title>{file}</title></svg>"))
        });
        let body = page
            .split_once("<body>")
            .unwrap()
            .1
            .replace("</body>\n</html>\n", "");
        vcycle_plot::assert_well_formed(&body);
        for piece in [
            "<h1 id=\"a-b\">A: b</h1>",
            "<code>a &lt; b</code>",
            "<a href=\"#a-b\">c</a>",
            "<td>1</td><td>2</td>",
            "<li>one</li>",
            "<title>f.svg</title>",
        ] {
            assert!(body.contains(piece), "{piece}: {body}");
        }
    }
}
