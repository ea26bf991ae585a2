//! Redraws a few lines in place on a terminal, each frame in one piece, so that nothing flickers.

/// Turns the wrapping of long lines off and on: a character that is wider than it counts must not begin a new row.
const NO_WRAP: &str = "\x1b[?7l";
const WRAP: &str = "\x1b[?7h";
/// Clears the rest of a line, and all below the cursor.
const CLEAR_LINE: &str = "\x1b[K";
const CLEAR_BELOW: &str = "\x1b[J";

/// The lines that stand in place; the cursor is on the row below them.
#[derive(Debug, Clone, Default)]
pub struct InPlace {
    height: usize,
    /// Columns and rows of the terminal when they were drawn.
    size: Option<(usize, usize)>,
}

impl InPlace {
    /// What to write so that `frame` takes the place of the lines before; `size` is the terminal's columns and rows. The
    /// frame must be narrower than the terminal and lower by a row.
    ///
    /// A terminal that has changed its size may have folded the lines, so that nothing tells where they are: then they
    /// stay, and the frame begins below them.
    pub fn redraw(&mut self, frame: &[String], size: (usize, usize)) -> String {
        if self.size.is_some_and(|before| before != size) {
            self.forget();
        }
        let lines = frame.iter().map(|line| format!("{line}{CLEAR_LINE}\n"));
        let text = format!("{}{NO_WRAP}{}{WRAP}{CLEAR_BELOW}", self.to_first_line(), lines.collect::<String>());
        (self.height, self.size) = (frame.len(), Some(size));
        text
    }

    /// What to write so that the lines are gone.
    pub fn clear(&mut self) -> String {
        let text = if self.height == 0 { String::new() } else { self.to_first_line() + CLEAR_BELOW };
        self.forget();
        text
    }

    /// Forgets the lines: something else was written below them.
    pub fn forget(&mut self) {
        (self.height, self.size) = (0, None);
    }

    fn to_first_line(&self) -> String {
        if self.height == 0 { "\r".to_string() } else { format!("\r\x1b[{}A", self.height) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(lines: &[&str]) -> Vec<String> {
        lines.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_frame_takes_the_place_of_the_one_before() {
        let mut in_place = InPlace::default();
        let first = in_place.redraw(&frame(&["one", "two"]), (80, 24));
        assert_eq!(first, "\r\x1b[?7lone\x1b[K\ntwo\x1b[K\n\x1b[?7h\x1b[J");
        assert!(in_place.redraw(&frame(&["three"]), (80, 24)).starts_with("\r\x1b[2A"));
        assert_eq!(in_place.clear(), "\r\x1b[1A\x1b[J");
        assert_eq!(in_place.clear(), "", "what is gone is not cleared again");
    }

    #[test]
    fn lines_that_the_terminal_has_moved_stay_as_they_are() {
        let mut in_place = InPlace::default();
        in_place.redraw(&frame(&["one", "two"]), (80, 24));
        assert!(in_place.redraw(&frame(&["one"]), (60, 24)).starts_with("\r\x1b[?7l"), "another width");
        in_place.forget();
        assert!(in_place.redraw(&frame(&["one"]), (60, 24)).starts_with("\r\x1b[?7l"), "stopped and continued");
    }
}
