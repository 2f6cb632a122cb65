//! Colours, where they are wanted.

use std::io::IsTerminal;

/// A colour of the terminal.
#[derive(Clone, Copy)]
pub enum Colour {
    Green,
    Yellow,
    Red,
}

/// Whether colours may be written to a stream.
#[derive(Clone, Copy)]
pub struct Style {
    coloured: bool,
}

impl Style {
    /// Colours only on a terminal, and only unless `NO_COLOR` is set to anything.
    pub fn of(stream: &impl IsTerminal) -> Self {
        let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        Self {
            coloured: stream.is_terminal() && !refused,
        }
    }

    /// The text in a colour, or as it is.
    pub fn paint(self, text: &str, colour: Colour) -> String {
        let code = match colour {
            Colour::Green => "32;1",
            Colour::Yellow => "33;1",
            Colour::Red => "31;1",
        };
        if self.coloured {
            format!("\x1b[{code}m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }
}
