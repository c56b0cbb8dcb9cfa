//! Quantities with units: conversion of `"30 kPa"`, `"9.81 m/s^2"` and `"45 deg"` to SI numbers and back to readable
//! text.
//!
//! A unit is a product of powers of named units, each with an optional SI prefix. Its dimension is a vector of
//! exponents of meter, kilogram, second and radian. The radian is separate, so that an angle is not mistaken for a
//! plain number.

use std::fmt;

/// Exponents of meter, kilogram, second and radian.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Dimension {
    /// Exponent of the meter.
    pub meter: i8,
    /// Exponent of the kilogram.
    pub kilogram: i8,
    /// Exponent of the second.
    pub second: i8,
    /// Exponent of the radian.
    pub radian: i8,
}

impl Dimension {
    /// A plain number.
    pub const NUMBER: Self = Self::new(0, 0, 0);
    /// \[m\]
    pub const LENGTH: Self = Self::new(1, 0, 0);
    /// \[s\]
    pub const TIME: Self = Self::new(0, 0, 1);
    /// \[kg\]
    pub const MASS: Self = Self::new(0, 1, 0);
    /// \[rad\]
    pub const ANGLE: Self = Self { meter: 0, kilogram: 0, second: 0, radian: 1 };
    /// \[rad/s\]
    pub const ANGULAR_VELOCITY: Self = Self { meter: 0, kilogram: 0, second: -1, radian: 1 };
    /// \[1/s\]
    pub const FREQUENCY: Self = Self::new(0, 0, -1);
    /// \[m/s\]
    pub const VELOCITY: Self = Self::new(1, 0, -1);
    /// \[m/s²\]
    pub const ACCELERATION: Self = Self::new(1, 0, -2);
    /// \[N\]
    pub const FORCE: Self = Self::new(1, 1, -2);
    /// \[Pa\]
    pub const PRESSURE: Self = Self::new(-1, 1, -2);
    /// \[kg/m³\]
    pub const DENSITY: Self = Self::new(-3, 1, 0);
    /// \[N/m\]
    pub const STIFFNESS: Self = Self::new(0, 1, -2);
    /// \[Pa/m\]
    pub const PRESSURE_PER_LENGTH: Self = Self::new(-2, 1, -2);
    /// \[J\]
    pub const ENERGY: Self = Self::new(2, 1, -2);
    /// \[m³\]
    pub const VOLUME: Self = Self::new(3, 0, 0);
    /// \[m²\]
    pub const AREA: Self = Self::new(2, 0, 0);
    /// \[W\]
    pub const POWER: Self = Self::new(2, 1, -3);

    /// Exponents of meter, kilogram and second.
    pub const fn new(meter: i8, kilogram: i8, second: i8) -> Self {
        Self { meter, kilogram, second, radian: 0 }
    }

    fn times(self, other: Self, power: i32) -> Option<Self> {
        let add = |a: i8, b: i8| i8::try_from(i32::from(a) + power * i32::from(b)).ok();
        Some(Self {
            meter: add(self.meter, other.meter)?,
            kilogram: add(self.kilogram, other.kilogram)?,
            second: add(self.second, other.second)?,
            radian: add(self.radian, other.radian)?,
        })
    }

    /// The name of the dimension with an article: "a length". Unnamed dimensions are described by their SI unit.
    pub fn describe(self) -> String {
        match NAMED.iter().find(|named| named.dimension == self) {
            Some(named) => named.name.to_string(),
            None => format!("a quantity in {}", self.si_unit()),
        }
    }

    /// The SI unit of the dimension, for example `Pa` or `kg/m^3`; empty for a plain number.
    pub fn si_unit(self) -> String {
        if let Some(named) = NAMED.iter().find(|named| named.dimension == self) {
            return named.units.first().map_or(String::new(), |unit| (*unit).to_string());
        }
        let powers = [("kg", self.kilogram), ("m", self.meter), ("s", self.second), ("rad", self.radian)];
        let factor = |unit: &str, power: i8| if power == 1 { unit.to_string() } else { format!("{unit}^{power}") };
        let above: Vec<String> = powers.iter().filter(|p| p.1 > 0).map(|&(unit, power)| factor(unit, power)).collect();
        let below: Vec<String> = powers.iter().filter(|p| p.1 < 0).map(|&(unit, power)| factor(unit, -power)).collect();
        let above = if above.is_empty() { "1".to_string() } else { above.join(" ") };
        if below.is_empty() { above } else { format!("{above}/{}", below.join("/")) }
    }

    /// Common units of this dimension, the SI unit first.
    pub fn usual_units(self) -> &'static [&'static str] {
        NAMED.iter().find(|named| named.dimension == self).map_or(&[], |named| named.units)
    }
}

struct Named {
    dimension: Dimension,
    name: &'static str,
    units: &'static [&'static str],
}

const fn named(dimension: Dimension, name: &'static str, units: &'static [&'static str]) -> Named {
    Named { dimension, name, units }
}

const NAMED: &[Named] = &[
    named(Dimension::NUMBER, "a plain number", &[]),
    named(Dimension::LENGTH, "a length", &["m", "km", "cm", "mm", "um"]),
    named(Dimension::TIME, "a time", &["s", "ms", "us", "min"]),
    named(Dimension::MASS, "a mass", &["kg", "g", "mg", "t"]),
    named(Dimension::ANGLE, "an angle", &["rad", "deg", "turn"]),
    named(Dimension::ANGULAR_VELOCITY, "an angular velocity", &["rad/s", "deg/s", "turn/s", "rpm"]),
    named(Dimension::FREQUENCY, "a rate", &["1/s", "Hz", "kHz", "1/ms"]),
    named(Dimension::VELOCITY, "a velocity", &["m/s", "cm/s", "mm/s", "km/h"]),
    named(Dimension::ACCELERATION, "an acceleration", &["m/s^2", "cm/s^2", "mm/s^2"]),
    named(Dimension::FORCE, "a force", &["N", "mN", "kN", "dyn"]),
    named(Dimension::PRESSURE, "a pressure", &["Pa", "kPa", "MPa", "GPa", "mmHg", "bar", "N/mm^2", "dyn/cm^2"]),
    named(Dimension::DENSITY, "a density", &["kg/m^3", "g/cm^3", "t/m^3"]),
    named(Dimension::STIFFNESS, "a spring stiffness", &["N/m", "kN/m", "N/mm"]),
    named(Dimension::PRESSURE_PER_LENGTH, "a pressure per depth", &["Pa/m", "kPa/mm", "MPa/m"]),
    named(Dimension::ENERGY, "an energy", &["J", "kJ", "mJ"]),
    named(Dimension::VOLUME, "a volume", &["m^3", "L", "mL", "cm^3", "mm^3"]),
    named(Dimension::AREA, "an area", &["m^2", "cm^2", "mm^2"]),
    named(Dimension::POWER, "a power", &["W", "kW", "mW"]),
];

/// A number in SI units and its dimension.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantity {
    /// The value in SI units.
    pub value: f64,
    /// Its dimension.
    pub dimension: Dimension,
}

/// Why a text is not a quantity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum QuantityError {
    /// The text does not begin with a number.
    NotANumber,
    /// The number is too large, infinite or NaN.
    NotFinite,
    /// The unit is unknown.
    UnknownUnit(String),
    /// The unit cannot be read, for example `m/` or `m^`.
    MalformedUnit(String),
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber => write!(f, "not a number with a unit"),
            Self::NotFinite => write!(f, "not a finite number"),
            Self::UnknownUnit(unit) => write!(f, "unknown unit `{unit}`"),
            Self::MalformedUnit(unit) => write!(f, "cannot read the unit `{unit}`"),
        }
    }
}

impl std::error::Error for QuantityError {}

impl Quantity {
    /// Reads `"30 kPa"`, `"30kPa"`, `"1e3 kg/m^3"`, `"1.5"`.
    ///
    /// ```
    /// use sinew_scene::{Dimension, Quantity};
    /// let young = Quantity::parse("30 kPa").unwrap();
    /// assert_eq!((young.value, young.dimension), (30_000.0, Dimension::PRESSURE));
    /// ```
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let text = text.trim();
        let digits = number_length(text);
        if digits == 0 {
            return Err(QuantityError::NotANumber);
        }
        let number: f64 = text[..digits].replace('_', "").parse().map_err(|_| QuantityError::NotANumber)?;
        let (factor, dimension) = parse_unit(text[digits..].trim())?;
        // Multiplications and divisions in this order give the exact decimal: "1 mm" is exactly 1e-3.
        let value = match factor {
            Factor::Times(factor) => number * factor,
            Factor::Over(factor) => number / factor,
        };
        if value.is_finite() { Ok(Self { value, dimension }) } else { Err(QuantityError::NotFinite) }
    }
}

/// A scale, kept as a quotient where that is exact: `1/1000` is not a binary fraction, 1000 is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Factor {
    Times(f64),
    Over(f64),
}

/// The text of an SI value in the most readable common unit: 30000 Pa is `30 kPa`.
pub fn format_quantity(value: f64, dimension: Dimension) -> String {
    format_quantities(&[value], dimension)
}

/// The sides of a box \[m\], each rounded to this many significant digits, in one unit: `20 × 20 × 0.5 cm`.
pub fn format_size(sides: [f64; 3], digits: usize) -> String {
    let rounded = |side: f64| format!("{side:.*e}", digits.saturating_sub(1)).parse().unwrap_or(side);
    format_quantities(&sides.map(rounded), Dimension::LENGTH)
}

/// Values of one dimension with one unit behind the last, the one that suits the largest.
fn format_quantities(values: &[f64], dimension: Dimension) -> String {
    let join = |values: &[f64], unit: &str| {
        let numbers: Vec<String> = values.iter().map(|value| format_number(*value)).collect();
        let numbers = numbers.join(" × ");
        if unit.is_empty() { numbers } else { format!("{numbers} {unit}") }
    };
    let largest = values.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    if largest == 0.0 || values.iter().any(|value| !value.is_finite()) {
        return join(values, &dimension.si_unit());
    }
    let metric =
        |unit: &&&str| !["mmHg", "bar", "dyn", "turn", "rpm", "min", "km/h", "t/m^3"].iter().any(|u| unit.contains(u));
    let written = |unit: &str| {
        let (factor, _) = parse_unit(unit).ok()?;
        let scale = |value: f64| match factor {
            Factor::Times(factor) => value / factor,
            Factor::Over(factor) => value * factor,
        };
        let scaled: Vec<f64> = values.iter().map(|value| scale(*value)).collect();
        Some((scale(largest), join(&scaled, unit)))
    };
    // The shortest text wins; the SI unit comes first and so wins a tie.
    dimension
        .usual_units()
        .iter()
        .filter(metric)
        .filter_map(|unit| written(unit))
        .filter(|(scaled, _)| (0.1..1e4).contains(scaled))
        .min_by_key(|(_, text)| text.len())
        .map_or_else(|| join(values, &dimension.si_unit()), |(_, text)| text)
}

/// A number with at most nine significant digits, in plain notation where possible.
pub fn format_number(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let rounded: f64 = format!("{value:.8e}").parse().unwrap_or(value);
    if (1e-4..1e7).contains(&rounded.abs()) { format!("{rounded}") } else { format!("{rounded:e}") }
}

/// Length in bytes of the longest number at the beginning of `text`.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |mut at: usize| {
        while bytes.get(at).is_some_and(|b| b.is_ascii_digit() || *b == b'_') {
            at += 1;
        }
        at
    };
    let sign = usize::from(matches!(bytes.first(), Some(b'+' | b'-')));
    let whole = digits(sign);
    let mut end = whole;
    if bytes.get(end) == Some(&b'.') {
        end = digits(end + 1);
    }
    if !bytes[..end].iter().any(u8::is_ascii_digit) {
        return 0;
    }
    // An exponent needs digits: "1e" would otherwise swallow the first letter of a unit.
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent_sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let exponent = digits(end + 1 + exponent_sign);
        if exponent > end + 1 + exponent_sign {
            end = exponent;
        }
    }
    end
}

/// Reads a product of powers: factors are separated by `*`, `·` or spaces, and each `/` inverts the one factor after
/// it.
fn parse_unit(text: &str) -> Result<(Factor, Dimension), QuantityError> {
    let malformed = || QuantityError::MalformedUnit(text.to_string());
    if text.len() > 64 {
        return Err(malformed());
    }
    let (mut times, mut over) = (1.0f64, 1.0f64);
    let mut dimension = Dimension::NUMBER;
    let mut rest = text;
    let mut sign = 1;
    let mut expects_factor = !text.is_empty();
    while !rest.is_empty() || expects_factor {
        let end = rest
            .find(|c: char| !(c.is_alphabetic() || matches!(c, '%' | '°' | 'µ') || (c == '1' && rest.starts_with('1'))))
            .unwrap_or(rest.len());
        if end == 0 {
            return Err(malformed());
        }
        let (symbol, tail) = rest.split_at(end);
        let (power, tail) = parse_power(tail).ok_or_else(malformed)?;
        if symbol != "1" {
            let (factor, unit_dimension) =
                unit_factor(symbol).ok_or_else(|| QuantityError::UnknownUnit(symbol.to_string()))?;
            let power = sign * power;
            dimension = dimension.times(unit_dimension, power).ok_or_else(malformed)?;
            let (factor, upright) = match factor {
                Factor::Times(factor) => (factor, power > 0),
                Factor::Over(factor) => (factor, power < 0),
            };
            *(if upright { &mut times } else { &mut over }) *= factor.powi(power.abs());
        }
        let tail = tail.trim_start();
        (rest, sign, expects_factor) = match tail.chars().next() {
            None => ("", 1, false),
            Some('/') => (tail[1..].trim_start(), -1, true),
            Some(c @ ('*' | '·' | '⋅')) => (tail[c.len_utf8()..].trim_start(), 1, true),
            Some(_) => (tail, 1, true),
        };
    }
    // g/cm^3 has powers of ten on both sides; their quotient is exact even where the two factors are not.
    let factor = if times >= over { Factor::Times(times / over) } else { Factor::Over(over / times) };
    Ok((factor, dimension))
}

/// Reads `^2`, `^-1`, `²` or nothing.
fn parse_power(text: &str) -> Option<(i32, &str)> {
    for (mark, power) in [('²', 2), ('³', 3)] {
        if let Some(tail) = text.strip_prefix(mark) {
            return Some((power, tail));
        }
    }
    let Some(tail) = text.strip_prefix('^') else { return Some((1, text)) };
    let sign = usize::from(tail.starts_with('-'));
    let digits = tail[sign..].bytes().take_while(u8::is_ascii_digit).count();
    let power: i32 = tail.get(..sign + digits)?.parse().ok()?;
    (power != 0 && power.abs() <= 9).then(|| (power, &tail[sign + digits..]))
}

/// Units without prefixes, then units that take SI prefixes.
fn unit_factor(symbol: &str) -> Option<(Factor, Dimension)> {
    use Dimension as D;
    use Factor::{Over, Times};
    Some(match symbol {
        "deg" | "°" => (Times(std::f64::consts::PI / 180.0), D::ANGLE),
        "turn" => (Times(std::f64::consts::TAU), D::ANGLE),
        "rpm" => (Times(std::f64::consts::TAU / 60.0), D::ANGULAR_VELOCITY),
        "min" => (Times(60.0), D::TIME),
        "h" => (Times(3600.0), D::TIME),
        "t" => (Times(1000.0), D::MASS),
        "kg" => (Times(1.0), D::MASS),
        "g" => (Over(1e3), D::MASS),
        "mg" => (Over(1e6), D::MASS),
        "ug" | "µg" | "μg" => (Over(1e9), D::MASS),
        "mmHg" => (Times(133.322_387_415), D::PRESSURE),
        "in" => (Times(0.0254), D::LENGTH),
        "%" => (Over(100.0), D::NUMBER),
        _ => return prefixed_unit(symbol),
    })
}

fn prefixed_unit(symbol: &str) -> Option<(Factor, Dimension)> {
    use Dimension as D;
    use Factor::{Over, Times};
    let bases = [
        ("rad", D::ANGLE, Times(1.0)),
        ("bar", D::PRESSURE, Times(1e5)),
        ("dyn", D::FORCE, Over(1e5)),
        ("Pa", D::PRESSURE, Times(1.0)),
        ("Hz", D::FREQUENCY, Times(1.0)),
        ("m", D::LENGTH, Times(1.0)),
        ("s", D::TIME, Times(1.0)),
        ("N", D::FORCE, Times(1.0)),
        ("J", D::ENERGY, Times(1.0)),
        ("W", D::POWER, Times(1.0)),
        ("L", D::VOLUME, Over(1e3)),
        ("l", D::VOLUME, Over(1e3)),
    ];
    let prefixes = [
        ("", 0),
        ("k", 3),
        ("M", 6),
        ("G", 9),
        ("h", 2),
        ("d", -1),
        ("c", -2),
        ("m", -3),
        ("u", -6),
        ("µ", -6), // micro sign U+00B5
        ("μ", -6), // Greek mu U+03BC
        ("n", -9),
    ];
    bases.iter().find_map(|&(base, dimension, factor)| {
        let prefix = symbol.strip_suffix(base)?;
        let power = prefixes.iter().find(|(spelling, _)| *spelling == prefix)?.1;
        let scale = 10f64.powi(i32::abs(power));
        let factor = match (factor, power >= 0) {
            (Times(factor), true) => Times(factor * scale),
            (Over(factor), false) => Over(factor * scale),
            (Times(factor), false) | (Over(factor), true) if factor == 1.0 || power == 0 => Over(factor * scale),
            (Times(factor), false) => quotient(factor, scale),
            (Over(factor), true) => quotient(scale, factor),
        };
        Some((factor, dimension))
    })
}

fn quotient(above: f64, below: f64) -> Factor {
    if above >= below { Factor::Times(above / below) } else { Factor::Over(below / above) }
}

/// All unit symbols, for suggestions.
pub(crate) fn unit_words() -> impl Iterator<Item = &'static str> + Clone {
    NAMED.iter().flat_map(|named| named.units.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn si(text: &str) -> f64 {
        Quantity::parse(text).unwrap_or_else(|e| panic!("{text}: {e}")).value
    }

    #[test]
    fn usual_spellings_give_exact_decimals() {
        for (text, value) in [
            ("30 kPa", 30e3),
            ("30kPa", 30e3),
            ("4 mm", 4e-3),
            ("0.20 m", 0.2),
            ("1 g/cm^3", 1000.0),
            ("1.06 g/cm³", 1060.0),
            ("9.81 m/s^2", 9.81),
            ("-9.81 m s^-2", -9.81),
            ("2 N", 2.0),
            ("1.5 s", 1.5),
            ("60 Hz", 60.0),
            ("60 1/s", 60.0),
            ("16 ms", 16e-3),
            ("2e3 dyn/cm^2", 200.0),
            ("3 µm", 3e-6),
            ("1 L", 1e-3),
            ("1 kL", 1.0),
            ("2 %", 0.02),
            ("1_000 N/m", 1000.0),
            ("5", 5.0),
            ("+.5 m", 0.5),
            ("1 hPa", 100.0),
            ("1 mbar", 100.0),
            ("1 kg·m/s^2", 1.0),
        ] {
            assert_eq!(si(text), value, "{text}");
        }
        assert!((si("45 deg") - std::f64::consts::FRAC_PI_4).abs() < 1e-15);
        assert!((si("36 km/h") - 10.0).abs() < 1e-14);
    }

    #[test]
    fn dimensions_multiply_like_units() {
        let dimension = |text| Quantity::parse(text).map(|q| q.dimension);
        assert_eq!(dimension("1 N/m^2"), Ok(Dimension::PRESSURE));
        assert_eq!(dimension("1 J/m^3"), Ok(Dimension::PRESSURE));
        assert_eq!(dimension("1 N*m"), Ok(Dimension::ENERGY));
        assert_eq!(dimension("1 kg m/s/s"), Ok(Dimension::FORCE));
        assert_eq!(dimension("1 deg/s"), Ok(Dimension::ANGULAR_VELOCITY));
    }

    #[test]
    fn bad_texts_say_what_is_wrong() {
        use QuantityError::*;
        for (text, error) in [
            ("", NotANumber),
            ("kPa", NotANumber),
            ("nan", NotANumber),
            ("1e999 m", NotFinite),
            ("3 kPaa", UnknownUnit("kPaa".into())),
            ("3 m/", MalformedUnit("m/".into())),
            ("3 m^", MalformedUnit("m^".into())),
            ("3 m^99", MalformedUnit("m^99".into())),
            ("3 ^2", MalformedUnit("^2".into())),
            (
                "3 m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9",
                MalformedUnit("m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9*m^9".into()),
            ),
        ] {
            assert_eq!(Quantity::parse(text), Err(error), "{text}");
        }
    }

    #[test]
    fn numbers_are_written_back_in_readable_units() {
        for (value, dimension, text) in [
            (30e3, Dimension::PRESSURE, "30 kPa"),
            (4e-3, Dimension::LENGTH, "4 mm"),
            (0.2, Dimension::LENGTH, "0.2 m"),
            (1000.0, Dimension::DENSITY, "1 g/cm^3"),
            (9.81, Dimension::ACCELERATION, "9.81 m/s^2"),
            (0.0, Dimension::TIME, "0 s"),
            (0.5, Dimension::NUMBER, "0.5"),
            (1e-9, Dimension::NUMBER, "1e-9"),
        ] {
            assert_eq!(format_quantity(value, dimension), text);
        }
    }

    #[test]
    fn sides_of_a_box_share_a_unit() {
        let text = |sides| format_size(sides, 3);
        assert_eq!(text([0.2, 0.2, 0.005]), "20 × 20 × 0.5 cm");
        assert_eq!(text([1.2345, 0.3, 0.0]), "123 × 30 × 0 cm");
        assert_eq!(text([0.0; 3]), "0 × 0 × 0 m");
        assert_eq!(text([f64::INFINITY, 1.0, 1.0]), "inf × 1 × 1 m");
    }

    #[test]
    fn every_listed_unit_has_the_dimension_it_is_listed_under() {
        for named in NAMED {
            for unit in named.units {
                assert_eq!(Quantity::parse(&format!("1 {unit}")).map(|q| q.dimension), Ok(named.dimension), "{unit}");
            }
        }
    }
}
