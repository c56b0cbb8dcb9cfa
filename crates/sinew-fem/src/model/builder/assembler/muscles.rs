//! Muscles: their channels, and the fibers of cells.

use sinew_lattice::Fibers;

use super::{Assembler, BodyParams, ModelError, MuscleParams};
use crate::elastic::{CellFiber, ElasticBlock, FiberGroup};
use crate::material::{FiberStretch, Law};
use crate::muscle::{MAX_MUSCLES, Muscle};

impl Assembler {
    /// Checks the muscles of a body and adds their channels.
    pub(super) fn muscles(&mut self, body: usize, params: &BodyParams) -> Result<Vec<Muscle>, ModelError> {
        let count = params.mesh.cell_count();
        let mut muscles: Vec<Muscle> = Vec::new();
        for muscle in self.parts.muscles.iter().filter(|muscle| muscle.body == body) {
            let wrong = |reason: String| {
                Err(ModelError::Muscle { body: params.name.clone(), muscle: muscle.name.clone(), reason })
            };
            if muscles.len() == MAX_MUSCLES {
                return wrong(format!("a body has at most {MAX_MUSCLES} muscles"));
            }
            let group = &muscle.group;
            if !(group.optimal_stretch > 0.0 && group.optimal_stretch.is_finite()) {
                return wrong("its optimal stretch must be positive".into());
            }
            if !(group.max_velocity > 0.0 && group.max_velocity.is_finite()) {
                return wrong("its maximum shortening speed must be positive".into());
            }
            if muscle.directions.len() != muscle.cells.len() || muscle.stress.len() != muscle.cells.len() {
                return wrong("it needs one direction and one stress per cell".into());
            }
            for (k, &cell) in muscle.cells.iter().enumerate() {
                let (direction, stress) = (muscle.directions[k], muscle.stress[k]);
                if cell as usize >= count {
                    return wrong(format!("there is no cell {cell}"));
                }
                if !((direction.norm() - 1.0).abs() < 1e-6) {
                    return wrong(format!("the fibers of cell {cell} have no direction"));
                }
                if !(stress >= 0.0 && stress.is_finite()) {
                    return wrong(format!("the fibers of cell {cell} would push"));
                }
            }
            let activation = self.channels.add(format!("{}.activation.{}", params.name, muscle.name), 0.0);
            muscles.push(Muscle { name: muscle.name.clone(), activation });
        }
        Ok(muscles)
    }

    /// The fibers of each cell of a body; in cells of several muscles, the last one counts.
    fn cell_fibers(&self, body: usize, params: &BodyParams) -> Vec<CellFiber> {
        let mut fibers = vec![CellFiber::NONE; params.mesh.cell_count()];
        for (group, muscle) in self.parts.muscles.iter().filter(|muscle| muscle.body == body).enumerate() {
            for (k, &cell) in muscle.cells.iter().enumerate() {
                let (direction, stress) = (muscle.directions[k], muscle.stress[k]);
                fibers[cell as usize] = CellFiber { direction, stress, group: group as u8 };
            }
        }
        fibers
    }

    /// Adds the fibers of the muscles of a body to the cells of a block.
    pub(super) fn add_fibers(
        &self,
        body: usize,
        params: &BodyParams,
        law: Law,
        block: &mut ElasticBlock,
    ) -> Result<(), ModelError> {
        let fibers = self.cell_fibers(body, params);
        let Some(&cell) = block.cells().iter().find(|&&cell| fibers[cell as usize].stress > 0.0) else {
            return Ok(());
        };
        let muscles: Vec<&MuscleParams> = self.parts.muscles.iter().filter(|muscle| muscle.body == body).collect();
        let muscle = muscles[usize::from(fibers[cell as usize].group)];
        let wrong =
            |reason: String| Err(ModelError::Muscle { body: params.name.clone(), muscle: muscle.name.clone(), reason });
        if !law.takes_fibers() {
            let able: Vec<&str> = Law::plain().filter(|law| law.takes_fibers()).map(Law::name).collect();
            return wrong(format!(
                "cell {cell} has the law `{}`, which takes no fibers; laws that do are {}",
                law.name(),
                able.join(", ")
            ));
        }
        let measure = muscle.group.measure;
        if muscles.iter().any(|other| other.group.measure != measure) {
            return wrong("all muscles of a body must use the same kind of stretch".into());
        }
        block.set_fibers(muscles.iter().map(|muscle| muscle.group.clone()).collect(), &fibers);
        Ok(())
    }

    /// The fibers of a body on a lattice.
    pub(super) fn lattice_fibers(&self, body: usize, params: &BodyParams) -> Result<Option<Fibers>, ModelError> {
        let mut muscles = self.parts.muscles.iter().filter(|muscle| muscle.body == body).peekable();
        if muscles.peek().is_none() {
            return Ok(None);
        }
        let known = FiberGroup { measure: FiberStretch::Full, ..FiberGroup::default() };
        if let Some(other) = muscles.find(|muscle| muscle.group != known) {
            return Err(ModelError::Muscle {
                body: params.name.clone(),
                muscle: other.name.clone(),
                reason: "muscles on a lattice support only the default tension curve over the full stretch".into(),
            });
        }
        let cells = self.cell_fibers(body, params);
        Ok(Some(Fibers {
            directions: cells.iter().map(|cell| cell.direction).collect(),
            stress: cells.iter().map(|cell| cell.stress).collect(),
            groups: cells.iter().map(|cell| u16::from(cell.group)).collect(),
        }))
    }
}
