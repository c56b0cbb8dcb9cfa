//! Probes of strands and tendons.

use super::generator::StrandDrive;
use crate::model::Model;
use crate::probe::{Probe, ProbeContext, push_vector, vector_names};

/// Activation of a strand, stretch of its generators, and their mean tension \[N\].
pub struct StrandProbe {
    /// Index of the strand.
    pub strand: usize,
}

impl Probe for StrandProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let strand = &model.strands[self.strand];
        let mut names = vec![model.channels.names()[strand.activation.0 as usize].clone()];
        names.extend(["stretch", "stretch.min", "stretch.max", "force"].map(|what| format!("{}.{what}", strand.name)));
        names
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let strand = &ctx.model.strands[self.strand];
        let activation = strand.activation(ctx.control);
        let drive = StrandDrive { activation, motion: ctx.model.last_motion(&ctx.state.history) };
        let s = strand.summarize(&ctx.state.positions, &drive);
        out.extend([activation, s.stretch, s.shortest, s.longest, s.tension]);
    }
}

/// Force of a group of tendons on the flesh, magnitude first \[N\], and their mean strain.
pub struct TendonProbe {
    /// Index of the group.
    pub tendon: usize,
}

impl Probe for TendonProbe {
    fn names(&self, model: &Model) -> Vec<String> {
        let name = &model.tendons[self.tendon].name;
        let mut names = vec![format!("{name}.force")];
        names.extend(vector_names(&format!("{name}.force")));
        names.push(format!("{name}.strain"));
        names
    }

    fn evaluate(&self, ctx: &ProbeContext<'_>, out: &mut Vec<f64>) {
        let tendon = &ctx.model.tendons[self.tendon];
        let force = tendon.total_force(&ctx.state.positions, ctx.control);
        out.push(force.norm());
        push_vector(force, out);
        out.push(tendon.mean_strain(&ctx.state.positions, ctx.control));
    }
}
