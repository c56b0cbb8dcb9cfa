//! Small damages to scenes and files.

use super::dice::Dice;

/// Values that a scene may have to read where it expects something else.
const VALUES: [&str; 44] = [
    "0",
    "-1",
    "1",
    "0.5",
    "3",
    "1e300",
    "-1e300",
    "1e-300",
    "1e9",
    "1e-9",
    "nan",
    "inf",
    "-inf",
    "1_000",
    "007",
    "9223372036854775807",
    "9223372036854775808",
    "true",
    "\"\"",
    "[]",
    "{}",
    "[[]]",
    "[0, 0, 0]",
    "[1, 2]",
    "\"z-max\"",
    "\"1 cm\"",
    "\"1e9 m\"",
    "\"1 um\"",
    "\"3 parsec\"",
    "\"30 kPa\"",
    "\"-5 s\"",
    "\"1e12 Hz\"",
    "\"block\"",
    "\"../thesis.txt\"",
    "\"../../thesis.txt\"",
    "\"../inputs/t.obj\"",
    "\"/dev/zero\"",
    "\"\\u0000\"",
    "\"a/b\\nc\"",
    "'🦴'",
    "2024-01-01",
    "{ from = \"box\" }",
    "\"penalty\"",
    "\"barrier\"",
];

/// Lines that ask for outputs, some over files of others.
const RECORDS: [&str; 12] = [
    "csv = \"../../thesis.txt\"",
    "csv = \"recording.sinew\"",
    "vtu = true",
    "usd = \"x.usda\"",
    "obj = true",
    "ply = true",
    "csv = \"manifest.json\"",
    "recording = \"../inputs/run/recording.sinew\"",
    "report = \"../notes.md\"",
    "npz = \"/etc/passwd\"",
    "plots = true",
    "png = true",
];

/// A scene with one to four changes; `other` gives lines to splice in.
pub fn scene(text: &str, other: &str, dice: &mut Dice) -> String {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    for _ in 0..1 + dice.roll(4) {
        if lines.is_empty() {
            break;
        }
        let at = dice.roll(lines.len());
        match dice.roll(11) {
            0..=3 => replace_value(&mut lines[at], dice),
            4 => scale_number(&mut lines[at], dice),
            5 => drop(lines.remove(at)),
            6 => lines.insert(at, lines[dice.roll(lines.len())].clone()),
            7 => {
                let strange: Vec<&str> = other.lines().collect();
                lines.insert(at, strange.get(dice.roll(strange.len())).unwrap_or(&"").to_string());
            }
            8 => {
                let with = dice.roll(lines.len());
                lines.swap(at, with);
            }
            9 => lines.extend(["[record]".into(), dice.pick(&RECORDS).to_string()]),
            _ => misspell(&mut lines[at], dice),
        }
    }
    let mut text = lines.join("\n");
    text.push('\n');
    // Seldom damage below the level of lines: most such files are not even TOML.
    match dice.one_in(12) {
        true => String::from_utf8_lossy(&bytes(text.as_bytes(), dice)).into_owned(),
        false => text,
    }
}

fn replace_value(line: &mut String, dice: &mut Dice) {
    let value = dice.pick(&VALUES);
    // One of the `key = value` of the line: tables stand in one line.
    let keys: Vec<usize> = line.match_indices(" = ").map(|(at, _)| at).collect();
    let Some(&at) = keys.get(dice.roll(keys.len())) else { return };
    let start = at + 3;
    line.replace_range(start..value_end(line, start), value);
}

/// Where the value ends that begins at `start`: at a comma or closing bracket outside of brackets and quotes.
fn value_end(line: &str, start: usize) -> usize {
    let (mut depth, mut quote) = (0, None);
    for (k, c) in line[start..].char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => depth += 1,
            (None, ']' | '}') if depth > 0 => depth -= 1,
            (None, ',' | ']' | '}' | '#') if depth == 0 => return start + k,
            _ => {}
        }
    }
    line.len()
}

/// A digit group becomes much larger or smaller.
fn scale_number(line: &mut String, dice: &mut Dice) {
    let digits: Vec<usize> = line.char_indices().filter(|(_, c)| c.is_ascii_digit()).map(|(at, _)| at).collect();
    let Some(&at) = digits.get(dice.roll(digits.len())) else { return };
    line.insert_str(at, dice.pick(&["-", "0.000", "9", "99999", "0", "."]));
}

/// Two neighboring letters change places.
fn misspell(line: &mut String, dice: &mut Dice) {
    let mut letters: Vec<char> = line.chars().collect();
    if letters.len() > 1 {
        let at = dice.roll(letters.len() - 1);
        letters.swap(at, at + 1);
        *line = letters.into_iter().collect();
    }
}

/// A file with one to six damages.
pub fn bytes(content: &[u8], dice: &mut Dice) -> Vec<u8> {
    let mut bytes = content.to_vec();
    for _ in 0..1 + dice.roll(6) {
        if bytes.is_empty() {
            break;
        }
        let at = dice.roll(bytes.len());
        match dice.roll(6) {
            0 => bytes[at] ^= 1 << dice.roll(8),
            1 => bytes[at] = [0, 0xff, b'9', b'-', b'\n', b'"'][dice.roll(6)],
            2 => bytes.truncate(at),
            3 => drop(bytes.drain(at..(at + 1 + dice.roll(40)).min(bytes.len()))),
            4 => {
                let piece = bytes[at..(at + 1 + dice.roll(80)).min(bytes.len())].to_vec();
                let to = dice.roll(bytes.len());
                bytes.splice(to..to, piece);
            }
            _ => drop(bytes.splice(at..at, *b"4294967295 ")),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_replaced_whole() {
        let line = "mesh = { from = \"box\", size = [1, 2, \"a, b\"], cell = 3 } # note";
        let at = |key: &str| line.find(key).expect(key) + key.len();
        let value = |key: &str| &line[at(key)..value_end(line, at(key))];
        assert_eq!(value("size = "), "[1, 2, \"a, b\"]");
        assert_eq!(value("cell = "), "3 ");
        assert_eq!(value("mesh = "), "{ from = \"box\", size = [1, 2, \"a, b\"], cell = 3 } ");
    }

    #[test]
    fn the_same_case_gives_the_same_scene_and_others_another() {
        let text = "a = 1\nb = { c = \"2 cm\", d = [1, 2] }\n[e]\nf = true\n";
        let of = |case| scene(text, "g = 5", &mut Dice::new(case));
        assert_eq!(of(7), of(7));
        let different: std::collections::BTreeSet<String> = (0..100).map(of).collect();
        assert!(different.len() > 60, "{}", different.len());
    }
}
