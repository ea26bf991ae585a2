//! Lays out cells in columns, and drops the least important columns if the width is too small.

use std::collections::BTreeSet;

/// Spaces between two columns.
const GAP: usize = 2;

/// A column: its heading, and one cell per row.
pub(crate) struct Column {
    heading: String,
    cells: Vec<String>,
    is_right: bool,
    /// Order of importance: columns of one rank stay together, the lowest rank first; 0 always stays.
    rank: u8,
}

impl Column {
    /// A left-aligned column.
    pub fn left(heading: &str, rank: u8, cells: impl IntoIterator<Item = String>) -> Self {
        Self { heading: heading.to_string(), cells: cells.into_iter().collect(), is_right: false, rank }
    }

    /// A right-aligned column.
    pub fn right(heading: &str, rank: u8, cells: impl IntoIterator<Item = String>) -> Self {
        Self { is_right: true, ..Self::left(heading, rank, cells) }
    }

    fn width(&self) -> usize {
        let cells = self.cells.iter().chain(std::iter::once(&self.heading));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    }

    fn padded(&self, cell: &str) -> String {
        let width = self.width();
        if self.is_right { format!("{cell:>width$}") } else { format!("{cell:<width$}") }
    }
}

/// The heading line and one line per row, with the columns that fit, the most important first; no wider than `width`
/// unless columns that are never dropped need more.
pub(crate) fn lines(mut columns: Vec<Column>, width: usize) -> Vec<String> {
    columns.retain(|column| column.rank == 0 || column.cells.iter().any(|cell| !cell.is_empty()));
    let ranks: BTreeSet<u8> = columns.iter().map(|column| column.rank).collect();
    let mut kept = BTreeSet::from([0]);
    for rank in ranks {
        let with = |column: &&Column| column.rank == rank || kept.contains(&column.rank);
        if wide(columns.iter().filter(with)) <= width {
            kept.insert(rank);
        }
    }
    columns.retain(|column| kept.contains(&column.rank));
    let rows = columns.iter().map(|column| column.cells.len()).max().unwrap_or(0);
    let line = |of: &dyn Fn(&Column) -> String| {
        let cells: Vec<String> = columns.iter().map(of).collect();
        cells.join(&" ".repeat(GAP)).trim_end().to_string()
    };
    let headings = line(&|column| column.padded(&column.heading));
    let cells = (0..rows).map(|row| line(&|column| column.padded(column.cells.get(row).map_or("", String::as_str))));
    std::iter::once(headings).chain(cells).collect()
}

fn wide<'a>(columns: impl Iterator<Item = &'a Column>) -> usize {
    let widths: Vec<usize> = columns.map(Column::width).collect();
    widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_important_column_gives_way_first() {
        let cells = |text: &str| vec![text.to_string()];
        let columns = || {
            vec![
                Column::left("NAME", 0, cells("random read")),
                Column::right("runs", 2, cells("5")),
                Column::right("p99", 1, cells("1.1 ms")),
                Column::left("note", 3, cells("")),
            ]
        };
        assert_eq!(lines(columns(), 80), ["NAME         runs     p99", "random read     5  1.1 ms"]);
        assert_eq!(lines(columns(), 22), ["NAME            p99", "random read  1.1 ms"]);
        assert_eq!(lines(columns(), 5), ["NAME", "random read"]);
    }
}
