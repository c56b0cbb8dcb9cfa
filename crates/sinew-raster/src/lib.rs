//! Pictures without a graphics driver: a small software rasterizer.
//!
//! Start with [`View`] (camera, surfaces, ground, captions), [`Renderer`] and [`Image`]. Everything runs on the
//! processor in a fixed order, so the same view gives the same bytes on any number of threads.
//!
//! ```
//! use sinew_raster::{Background, Bounds, Camera, Finish, FitParams, Renderer, Rgb, ShapeMesh, Surface, UpAxis, View};
//!
//! let ball = ShapeMesh::sphere([0.0; 3], 0.1, 12);
//! let (stage, up, renderer) = (Bounds::of(&ball.positions), UpAxis::default(), Renderer::draft(64, 48));
//! let camera = Camera::fit(&stage, up, renderer.aspect(), &FitParams::default());
//! let surfaces = vec![Surface::solid(&ball.positions, &ball.triangles, Rgb([0.8, 0.3, 0.2]), Finish::FLESH)];
//! let (title, caption, legend, background) = (None, None, None, Background::Studio);
//! let view = View { camera, up, ground: None, stage, surfaces, title, caption, legend, background };
//! let image = renderer.render(&view);
//! assert_ne!(image.pixel(32, 24), image.pixel(0, 0));
//! ```
//!
//! Stages of [`Renderer::render`]:
//!
//! 1. **Prepare** (`scene`): corner normals with soft creases, one flat list of triangles.
//! 2. **Occlude** (`occlusion`): low-resolution depth maps from many directions of the sky give every vertex and the
//!    ground its share of ambient light; `shadow` holds one sharp map for the key light.
//! 3. **Cover** (`coverage`): eight samples per pixel store the nearest triangle.
//! 4. **Shade** (`shade`): each visible surface of a pixel is lit once, then samples are averaged in linear light;
//!    `texture` holds images on surfaces.
//! 5. **Annotate** (`overlay`, `text`): title, time, color legend.

mod backplate;
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
mod texture;
mod vector;

pub use backplate::Backplate;
pub use camera::{Bounds, Camera, CameraBasis, FitParams, UpAxis};
pub use color::{ColorMap, Rgb};
pub use image::Image;
pub use overlay::{Legend, draw_footnote, draw_label, draw_scale_bar, format_tick, rounded_range, ticks};
pub use render::{Background, Renderer, View};
pub use scene::{Finish, Paint, Surface, Wireframe};
pub use shapes::ShapeMesh;
pub use texture::{Coat, CoatTriangle, Pigment, Texture, Wrap};
