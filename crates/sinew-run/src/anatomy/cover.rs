//! Stage `cover`: a coarse mesh around the fine one, with its attachments and fibers, and where fine nodes are in it.

use sinew_anatomy::cover::{Cover, Membership};
use sinew_geometry::{CellMesh, MeshField};
use sinew_math::Vec3;

use super::annotate::FIBER;
use super::build::Bench;
use super::cache::KeyBuilder;
use super::cells::told;
use super::stage::{Made, Trouble};

/// Version of the stage.
const VERSION: u32 = 3;
/// Fields of the fine mesh: nodes of the cover that carry a fine node, and their weights; four each.
pub(super) const NODES: &str = "cover_nodes";
pub(super) const WEIGHTS: &str = "cover_weights";

/// The size of a cover nearest to the wanted one that nests: the fine size times a power of two \[m\].
pub(super) fn nested(fine: f64, wanted: f64) -> f64 {
    fine * (wanted / fine).log2().round().max(0.0).exp2()
}

/// The fine mesh with nodes and weights in its cover, and the cover.
pub(super) fn make(
    bench: &Bench<'_>,
    index: usize,
    fine: &Made<CellMesh>,
    cell: f64,
    wanted: f64,
) -> Result<[Made<CellMesh>; 2], Trouble> {
    let size = nested(cell, wanted);
    let key = |part: &str| KeyBuilder::new("cover", VERSION).text(part).input(fine.digest).number(size).finish();
    let name = format!("cover {}", bench.recipe.tissue[index].name);
    let made = bench.shop.make_all(&name, &[key("fine"), key("coarse")], || {
        let fine = bench.shop.get(fine)?;
        covered(&fine, size).map_err(|error| told(bench, "cover.cell", &error))
    })?;
    made.try_into().map_err(|_| Trouble::Torn)
}

fn covered(fine: &CellMesh, size: f64) -> Result<Vec<CellMesh>, String> {
    let cover = Cover::build(fine, size).map_err(|error| error.to_string())?;
    let mut coarse = cover.mesh.clone();
    for (name, nodes) in fine.node_sets() {
        let carriers = cover.holding_nodes(fine, nodes).map_err(|error| error.to_string())?;
        coarse = coarse.with_node_set(name, carriers).map_err(|error| error.to_string())?;
    }
    for (name, cells) in fine.cell_sets() {
        let mut carriers = cover.project_cells(cells, Membership::Majority).map_err(|error| error.to_string())?;
        if carriers.is_empty() {
            // A sheet or a tendon thinner than a coarse cell stays a region: scenes name it.
            carriers = cover.project_cells(cells, Membership::Any).map_err(|error| error.to_string())?;
        }
        coarse = coarse.with_cell_set(name, carriers).map_err(|error| error.to_string())?;
    }
    if let Some(field) = fine.cell_fields().get(FIBER) {
        let fibers: Vec<Vec3> = field.values.chunks_exact(3).map(|f| Vec3::new(f[0], f[1], f[2])).collect();
        let along = cover.project_fibers(&fibers).map_err(|error| error.to_string())?;
        let values = along.iter().flat_map(|f| [f.x, f.y, f.z]).collect();
        let field = MeshField { components: 3, values };
        coarse = coarse.with_cell_field(FIBER, field).map_err(|error| error.to_string())?;
    }
    let inside = MeshField { components: 1, values: cover.volume_fractions() };
    coarse = coarse.with_cell_field("inside", inside).map_err(|error| error.to_string())?;
    let [nodes, weights] = weights(&cover);
    let fine = fine.clone().with_node_field(NODES, nodes).map_err(|error| error.to_string())?;
    let fine = fine.with_node_field(WEIGHTS, weights).map_err(|error| error.to_string())?;
    Ok(vec![fine, coarse])
}

/// Up to four nodes and weights of each fine node; what is missing has weight 0.
fn weights(cover: &Cover) -> [MeshField; 2] {
    let count = cover.embedding.len();
    let mut fields = [0, 1].map(|_| MeshField { components: 4, values: vec![0.0; 4 * count] });
    for point in 0..count {
        let (nodes, weights) = cover.embedding.entries(point);
        for (k, (node, weight)) in nodes.iter().zip(weights).take(4).enumerate() {
            fields[0].values[4 * point + k] = f64::from(*node);
            fields[1].values[4 * point + k] = *weight;
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::nested;

    #[test]
    fn covers_nest_in_the_lattice_of_the_fine_mesh() {
        for (fine, wanted, size) in
            [(1.0, 4.0, 4.0), (1.0, 3.0, 4.0), (1.0, 2.8, 2.0), (0.5, 4.1, 4.0), (1.0, 0.1, 1.0)]
        {
            assert_eq!(nested(fine, wanted), size);
        }
    }
}
