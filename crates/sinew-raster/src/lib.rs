//! Pictures without a graphics driver: a small software rasteriser.
//!
//! A [`View`] (camera, surfaces, ground, captions) goes in, an [`Image`] comes out. Everything runs on the processor in a
//! fixed order, so the same view gives the same bytes on any number of threads.
//!
//! How a picture is made ([`Renderer::render`]):
//!
//! 1. **Prepare** (`scene`): corner normals with soft creases, one flat list of triangles.
//! 2. **Occlude** (`occlusion`): low-resolution depth maps from many directions of the sky give every vertex and the ground its
//!    share of ambient light; `shadow` holds one sharp map for the key light.
//! 3. **Cover** (`coverage`): eight samples per pixel remember the nearest triangle.
//! 4. **Shade** (`shade`): every visible surface of a pixel is lit once, then samples are averaged in linear light.
//! 5. **Annotate** (`overlay`, `text`): title, time, color legend.

mod camera;
mod color;
mod coverage;
mod image;
mod occlusion;
mod overlay;
mod render;
mod scene;
mod shade;
mod shadow;
mod shapes;
mod text;
mod vector;

pub use camera::{Bounds, Camera, CameraBasis, FitParams, UpAxis};
pub use color::{ColorMap, Rgb};
pub use image::Image;
pub use overlay::{Legend, draw_footnote, format_tick, ticks};
pub use render::{Renderer, View};
pub use scene::{Finish, Paint, Surface, Wireframe};
pub use shapes::ShapeMesh;
