//! Cells that are taken away during the run: regions become cells, and every removal is tried before the first frame.

use sinew_fem::model::{ModelBuilder, RemovalError};
use sinew_fem::{Removal, Simulation};
use sinew_scene::spec::removal;
use sinew_scene::{Diagnostic, Dimension, format_quantity};

use super::Compiler;
use super::body::CompiledBody;

/// Removals, each with its place in the scene file.
#[derive(Default)]
pub(super) struct Removals {
    paths: Vec<String>,
    list: Vec<Removal>,
}

impl Compiler<'_> {
    pub(super) fn removals(&mut self, bodies: &[CompiledBody]) -> Removals {
        let mut removals = Removals::default();
        for (body, (data, compiled)) in self.scene.body.iter().zip(bodies).enumerate() {
            for (k, wanted) in data.remove.iter().enumerate() {
                let path = removal::Removal::path(self.scene, body, k);
                match compiled.regions.cells(&wanted.region) {
                    Ok(cells) => {
                        removals.list.push(Removal { body, cells, at: wanted.at });
                        removals.paths.push(path);
                    }
                    Err(message) => self.problems.push(self.scene.problem(&format!("{path}.region"), message)),
                }
            }
        }
        removals
    }

    /// A copy of the parts of the model, where they are needed once more.
    pub(super) fn kept_parts(&self, removals: &Removals) -> Option<ModelBuilder> {
        (!removals.list.is_empty()).then(|| self.builder.clone())
    }

    /// Hands the removals to the simulation, which tries them all; notes what each of them cuts.
    pub(super) fn schedule(
        &self,
        simulation: &mut Simulation,
        parts: Option<ModelBuilder>,
        removals: &Removals,
    ) -> Result<(), Diagnostic> {
        let Some(parts) = parts else { return Ok(()) };
        let scheduled = simulation.schedule_removals(parts, &removals.list);
        let notes = scheduled.map_err(|(index, error)| self.refused(&removals.paths[index], &error))?;
        for (removal, notes) in removals.list.iter().zip(notes) {
            let time = format_quantity(removal.at, Dimension::TIME);
            simulation.notes.extend(notes.into_iter().map(|note| format!("at {time} {note}")));
        }
        Ok(())
    }

    fn refused(&self, path: &str, error: &RemovalError) -> Diagnostic {
        let problem = self.scene.problem(&format!("{path}.region"), error.to_string());
        match error {
            RemovalError::AllCells { .. } => problem.hint("leave out some of its cells, or start without the body"),
            RemovalError::RemovedBefore { .. } => problem.hint("each cell goes once: let the regions not overlap"),
            RemovalError::LosesAll { .. } => problem.hint("leave some of them: take a smaller region"),
            RemovalError::Watched { .. } => {
                problem.hint("watch a place that stays, or values of the body such as `BODY.min.z`, which follow")
            }
            _ => problem,
        }
    }
}
