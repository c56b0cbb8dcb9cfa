use super::*;
use crate::{Background, Bounds, Camera, Finish, Paint, Renderer, Surface, UpAxis, View};

const RED: [u8; 4] = [220, 20, 20, 255];
const GREEN: [u8; 4] = [20, 200, 20, 255];
const BLUE: [u8; 4] = [20, 20, 220, 255];
const WHITE: [u8; 4] = [240, 240, 240, 255];

/// Quarters: red and green above, blue and white below.
fn quarters(size: usize) -> Texture {
    let color = |i: usize| match (i % size < size / 2, i / size < size / 2) {
        (true, true) => RED,
        (false, true) => GREEN,
        (true, false) => BLUE,
        (false, false) => WHITE,
    };
    Texture::new(size, size, (0..size * size).flat_map(color).collect(), usize::MAX).unwrap()
}

fn linear([r, g, b, _]: [u8; 4]) -> [f32; 3] {
    [r, g, b].map(|byte| linear_from_srgb(f32::from(byte) / 255.0))
}

fn is_near(color: [f32; 4], expected: [f32; 3]) -> bool {
    (0..3).all(|c| (color[c] - expected[c]).abs() < 2e-3)
}

const POINT: [[f32; 2]; 2] = [[1e-6, 0.0], [0.0, 1e-6]];

/// At the center of a texel its own color, and v points down.
#[test]
fn texels_keep_their_colors() {
    let texture = quarters(2);
    for (at, color) in [([0.25, 0.25], RED), ([0.75, 0.25], GREEN), ([0.25, 0.75], BLUE), ([0.75, 0.75], WHITE)] {
        assert!(is_near(texture.sample(at, POINT, [Wrap::Clamp; 2]), linear(color)), "{at:?}");
    }
    // Halfway between two texels their mean in linear light.
    let middle: [f32; 3] = std::array::from_fn(|c| 0.5 * (linear(RED)[c] + linear(GREEN)[c]));
    assert!(is_near(texture.sample([0.5, 0.25], POINT, [Wrap::Clamp; 2]), middle));
}

/// Beyond the edge, by each rule: at u = −0.25 of two columns.
#[test]
fn edges_continue_as_asked() {
    let texture = quarters(2);
    let at = |u: f32, wrap: Wrap| texture.sample([u, 0.25], POINT, [wrap; 2]);
    assert!(is_near(at(-0.25, Wrap::Repeat), linear(GREEN)) && is_near(at(7.25, Wrap::Repeat), linear(RED)));
    assert!(is_near(at(-0.25, Wrap::Mirror), linear(RED)) && is_near(at(-0.75, Wrap::Mirror), linear(GREEN)));
    assert!(is_near(at(-9.0, Wrap::Clamp), linear(RED)) && is_near(at(9.0, Wrap::Clamp), linear(GREEN)));
    // At the very edge a repeated image blends with its other side, a clamped one does not.
    assert!(is_near(at(0.0, Wrap::Clamp), linear(RED)));
    let both: [f32; 3] = std::array::from_fn(|c| 0.5 * (linear(RED)[c] + linear(GREEN)[c]));
    assert!(is_near(at(0.0, Wrap::Repeat), both));
    for strange in [f32::NAN, f32::INFINITY, -1e30, 1e30] {
        let color = texture.sample([strange, strange], [[strange; 2]; 2], [Wrap::Repeat, Wrap::Mirror]);
        assert!(color.iter().all(|c| c.is_finite()), "{strange}");
    }
}

/// A pixel as large as the image sees the mean of all texels, for sides that are no powers of two as well. One byte of
/// rounding per halving.
#[test]
fn far_away_only_the_mean_is_left() {
    let mean: [f32; 3] =
        std::array::from_fn(|c| [RED, GREEN, BLUE, WHITE].map(|color| linear(color)[c]).iter().sum::<f32>() / 4.0);
    for size in [2, 8, 10, 64] {
        let color = quarters(size).sample([0.1, 0.9], [[1.0, 0.0], [0.0, 1.0]], [Wrap::Repeat; 2]);
        assert!((0..3).all(|c| (color[c] - mean[c]).abs() < 0.02), "{size}: {color:?}, {mean:?}");
    }
}

/// A long pixel along the columns does not mix the columns.
#[test]
fn slanted_pixels_stay_sharp_across() {
    let stripes = |i: usize| if i % 64 < 32 { RED } else { BLUE };
    let texture = Texture::new(64, 64, (0..64 * 64).flat_map(stripes).collect(), usize::MAX).unwrap();
    let color = texture.sample([0.42, 0.5], [[0.02, 0.0], [0.0, 0.08]], [Wrap::Clamp; 2]);
    assert!(is_near(color, linear(RED)), "{color:?}");
}

#[test]
fn large_images_are_halved_and_wrong_ones_refused() {
    assert_eq!(Texture::new(64, 32, RED.repeat(2048), 600).unwrap().size(), [32, 16]);
    assert_eq!(Texture::new(1, 5, RED.repeat(5), 1).unwrap().size(), [1, 1]);
    assert!(Texture::new(2, 2, RED.repeat(3), 9).is_none() && Texture::new(0, 0, Vec::new(), 9).is_none());
    assert!(Texture::new(usize::MAX, 2, RED.repeat(3), 9).is_none());
}

/// A square in the plane z = 0 that fills the picture, seen from +z, in two triangles.
fn drawn(paint: Paint<'_>) -> crate::Image {
    let positions = [[-1.0, -1.0, 0.0], [1.0, -1.0, 0.0], [1.0, 1.0, 0.0], [-1.0, 1.0, 0.0]];
    let triangles = [[0, 1, 2], [0, 2, 3]];
    let camera = Camera {
        eye: [0.0, 0.0, 5.0],
        target: [0.0; 3],
        up: [0.0, 1.0, 0.0],
        field_of_view: 2.0 * (1.0f32 / 5.0).atan(),
    };
    let surface =
        Surface { positions: &positions, triangles: &triangles, paint, finish: Finish::MATTE, wireframe: None };
    Renderer::draft(80, 80).render(&View {
        camera,
        up: UpAxis::Y,
        ground: None,
        stage: Bounds::of(&positions),
        surfaces: vec![surface],
        title: None,
        caption: None,
        legend: None,
        background: Background::Studio,
    })
}

fn square(texture: Option<Texture>) -> Coat {
    let pigment = Pigment { color: [1.0; 3], texture, wrap: [Wrap::Clamp; 2] };
    let [a, b, c, d] = [[0.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 0.0]];
    let triangle = |coordinates| CoatTriangle { pigment: 0, coordinates };
    Coat {
        pigments: vec![pigment],
        triangles: vec![triangle([a, b, c]), triangle([a, c, d])],
        corner_colors: Vec::new(),
    }
}

fn hue([r, g, b]: [u8; 3]) -> char {
    let [r, g, b] = [r, g, b].map(i32::from);
    let most = r.max(g).max(b);
    match () {
        () if most - r.min(g).min(b) < 40 => 'w',
        () if r == most => 'r',
        () if g == most => 'g',
        () => 'b',
    }
}

/// An image on a square: each quarter of the picture has its own color, the right way up.
#[test]
fn a_square_shows_its_image() {
    let coat = square(Some(quarters(32)));
    let image = drawn(Paint::Coat(&coat));
    for (x, y, expected) in [(20, 20, 'r'), (60, 20, 'g'), (20, 60, 'b'), (60, 60, 'w')] {
        assert_eq!(hue(image.pixel(x, y)), expected, "{x}, {y}: {:?}", image.pixel(x, y));
    }
    // Up to the edge between the quarters, and across the diagonal between the triangles.
    assert_eq!([hue(image.pixel(37, 20)), hue(image.pixel(42, 20))], ['r', 'g']);
    assert_eq!([hue(image.pixel(25, 54)), hue(image.pixel(30, 50))], ['b', 'b']);
}

/// Without images, materials and colors at corners do the same as one color.
#[test]
fn plain_materials_are_plain_colors() {
    let color = crate::Rgb([0.8, 0.3, 0.2]);
    let solid = drawn(Paint::Solid(color));
    let mut coat = square(None);
    coat.pigments[0].color = color.to_linear();
    assert_eq!(drawn(Paint::Coat(&coat)), solid);
    coat.pigments[0].color = [1.0; 3];
    coat.corner_colors = vec![[color.to_linear(); 3]; 2];
    let by_corners = drawn(Paint::Coat(&coat));
    let distance = by_corners.pixels.iter().zip(&solid.pixels).map(|(a, b)| a.abs_diff(*b)).max();
    assert!(distance <= Some(1), "{distance:?}");
    // What is missing or wrong is gray, never a panic.
    coat.triangles = vec![CoatTriangle { pigment: 7, ..CoatTriangle::default() }];
    drawn(Paint::Coat(&coat));
}

/// Two materials of one surface meet at a clean edge: no pixel inside one has the color of the other.
#[test]
fn materials_do_not_bleed() {
    let mut coat = square(None);
    coat.pigments = vec![Pigment::plain(linear(RED)), Pigment::plain(linear(BLUE))];
    coat.triangles[1].pigment = 1;
    let image = drawn(Paint::Coat(&coat));
    // Pixels that the edge crosses have some of both.
    let [r, _, b] = image.pixel(40, 39).map(i32::from);
    assert!((r - b).abs() < 60, "{:?}", image.pixel(40, 39));
    for i in 4..76 {
        let (below, above) = (image.pixel(i + 3, 79 - i), image.pixel(i, 79 - i - 3));
        assert_eq!([hue(below), hue(above)], ['r', 'b'], "{i}");
    }
}
