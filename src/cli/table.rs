//! Text tables: each column is as wide as its widest cell.

/// Formats rows in columns, two spaces apart; `right` selects the columns aligned to the right.
pub fn layout(rows: &[Vec<String>], right: &[bool]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let widths: Vec<usize> = (0..columns).map(|column| width(column).unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (column, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[column] - cell.chars().count());
            if right.get(column).copied().unwrap_or(false) {
                line += &format!("{padding}{cell}  ");
            } else {
                line += &format!("{cell}{padding}  ");
            }
        }
        text += line.trim_end();
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::layout;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["tip".into(), "1.5".into()], vec!["énergie".into(), "12".into()]];
        assert_eq!(layout(&rows, &[false, true]), "tip      1.5\nénergie   12\n");
    }
}
