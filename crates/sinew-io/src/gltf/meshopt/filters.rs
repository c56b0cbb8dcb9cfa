//! Filters: from unpacked whole numbers to unit vectors, rotations, numbers and colors. Elements without a meaning,
//! which the extension leaves open, become zeros.

/// A whole number of eight or sixteen bits.
pub(super) trait Component: Copy {
    const BYTES: usize;
    /// Largest signed and largest unsigned value.
    const MOST: [i32; 2];
    fn from_le(bytes: &[u8]) -> i32;
}

impl Component for i8 {
    const BYTES: usize = 1;
    const MOST: [i32; 2] = [127, 255];
    fn from_le(bytes: &[u8]) -> i32 {
        i32::from(bytes[0] as i8)
    }
}

impl Component for i16 {
    const BYTES: usize = 2;
    const MOST: [i32; 2] = [32767, 65535];
    fn from_le(bytes: &[u8]) -> i32 {
        i32::from(i16::from_le_bytes([bytes[0], bytes[1]]))
    }
}

/// Applies a filter to elements of four components in `N` bytes; it gets them and their largest values.
pub(super) fn each<T: Component, const N: usize>(elements: &mut [u8], filter: impl Fn([i32; 4], [i32; 2]) -> [i32; 4]) {
    for element in elements.as_chunks_mut::<N>().0 {
        let numbers = std::array::from_fn(|k| T::from_le(&element[k * T::BYTES..]));
        for (bytes, number) in element.chunks_exact_mut(T::BYTES).zip(filter(numbers, T::MOST)) {
            bytes.copy_from_slice(&number.to_le_bytes()[..T::BYTES]);
        }
    }
}

/// The nearest whole number, halves away from zero; 0 for what is none.
fn round(x: f64) -> i32 {
    x.round() as i32
}

/// A unit vector from its place on an octahedron. The third number is 1.0 in the precision of the others; the
/// fourth stays.
pub(super) fn octahedral([x, y, one, rest]: [i32; 4], [most, _]: [i32; 2]) -> [i32; 4] {
    let [mut x, mut y] = [x, y].map(|k| f64::from(k) / f64::from(one));
    let z = 1.0 - x.abs() - y.abs();
    // The corners of the square are the lower half, folded outward.
    let fold = (-z).max(0.0);
    x -= fold.copysign(x);
    y -= fold.copysign(y);
    let scale = f64::from(most) / (x * x + y * y + z * z).sqrt();
    [round(x * scale), round(y * scale), round(z * scale), rest]
}

/// A unit quaternion from three of its components times √2. The fourth number is 1.0 in their precision, and its two
/// lowest bits tell which component is left out: the largest, which is positive.
pub(super) fn quaternion([x, y, z, one]: [i32; 4], [most, _]: [i32; 2]) -> [i32; 4] {
    let unit = std::f64::consts::FRAC_1_SQRT_2 / f64::from(one | 3);
    let [x, y, z] = [x, y, z].map(|k| f64::from(k) * unit);
    let w = (1.0 - x * x - y * y - z * z).max(0.0).sqrt();
    let mut out = [0; 4];
    for (k, part) in [w, x, y, z].into_iter().enumerate() {
        out[((one & 3) as usize + k) % 4] = round(part * f64::from(most)).clamp(-most, most);
    }
    out
}

/// Numbers in single precision from a mantissa of 24 bits and an exponent of 8, both signed.
pub(super) fn exponential(elements: &mut [u8]) {
    for element in elements.as_chunks_mut::<4>().0 {
        let bits = i32::from_le_bytes(*element);
        let (exponent, mantissa) = (bits >> 24, bits << 8 >> 8);
        let number = f64::from(mantissa) * 2f64.powi(exponent);
        *element = (number as f32).to_le_bytes();
    }
}

/// A color from luma, two differences of colors, and opacity, whose highest bit tells the precision.
pub(super) fn color([luma, orange, green, opacity]: [i32; 4], [_, most]: [i32; 2]) -> [i32; 4] {
    // Unsigned components were read as signed.
    let [luma, opacity] = [luma, opacity].map(|k| k & most);
    let scale = (1u32 << (32 - opacity.leading_zeros())) - 1;
    let opacity = opacity & (scale >> 1) as i32;
    let opacity = opacity << 1 | opacity & 1;
    let unit = f64::from(most) / f64::from(scale);
    let rgb = [luma + orange - green, luma + green, luma - orange - green];
    let [r, g, b, a] = [rgb[0], rgb[1], rgb[2], opacity].map(|k| round(f64::from(k) * unit).clamp(0, most));
    [r, g, b, a]
}
