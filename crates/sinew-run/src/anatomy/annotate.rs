//! Stage `annotate`: attachments as sets of nodes, which cells are tendon, and where fibers run.

use sinew_anatomy::field::DistanceField;
use sinew_geometry::{CellMesh, MeshField};
use sinew_scene::recipe::tissue::Tissue;
use sinew_scene::{Diagnostic, Recipe};

use super::attach::Attached;
use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::{SizedMesh, told};
use super::stage::{Made, Trouble};
use super::{fibers, morph, parts};

/// Version of the stage.
const VERSION: u32 = 3;
/// Name of the field of fiber directions.
pub(super) const FIBER: &str = "fiber";

/// The mesh of a tissue with its sets and fields.
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    mesh: &Made<SizedMesh>,
    attached: &Made<Attached>,
    smooth: &[Result<Made<DistanceField>, Diagnostic>],
) -> Result<Made<CellMesh>, Trouble> {
    let tissue = &bench.recipe.tissue[index];
    let key = KeyBuilder::new("annotate", VERSION).input(mesh.digest).input(attached.digest).text(&own_words(tissue));
    let mut key = parts::add_inputs(bench, index, smooth, key)?;
    key = morph::add_inputs(bench, fibers::add_inputs(bench, index, key)?);
    bench.shop.make(&format!("annotate {}", tissue.name), key.finish(), || {
        let sized = bench.shop.get(mesh)?;
        let mesh = &sized.mesh;
        let sets = &bench.shop.get(attached)?.sets;
        let mut made = mesh.clone();
        let failed = |error: sinew_geometry::MeshError| told(bench, &format!("tissue[{index}]"), &error.to_string());
        for (attach, nodes) in tissue.attach.iter().zip(sets) {
            made = made.with_node_set(&attach.name, nodes.clone()).map_err(failed)?;
        }
        made = parts::with_sets(bench, index, made, smooth)?;
        if let Some(directions) = fibers::make(bench, index, mesh, sized.cell, sets, smooth)? {
            let values = directions.iter().flat_map(|f| [f.x, f.y, f.z]).collect();
            made = made.with_cell_field(FIBER, MeshField { components: 3, values }).map_err(failed)?;
        }
        Ok(made)
    })
}

/// The part of the recipe that this stage reads.
fn own_words(tissue: &Tissue) -> String {
    let part = Tissue {
        name: "tissue".into(),
        kind: tissue.kind,
        attach: tissue.attach.clone(),
        fibers: tissue.fibers.clone(),
        ..Tissue::default()
    };
    Recipe::words_of_tissue(&part)
}
