//! Linear systems: layout, assembly and solvers.
//!
//! | file | subject |
//! |---|---|
//! | `plan` | positions of cells and forces in the matrix |
//! | `assembly` | the tangent over the unknowns |
//! | `contact_operator` | contacts, beside the matrix |
//! | `free`, `hinge` | parts that nothing holds, and parts that may rotate |
//! | `backend` | interface of a matrix with its solver |
//! | `direct` | Cholesky, for small models |
//! | `iterative` | conjugate gradients in f32, with `v_cycle` and `rest_factor` |
//! | `lattice` | bodies on lattices, alone or beside cells, with `local_solve` |
//! | `system` | one backend, chosen for a model |

mod assembly;
mod backend;
mod contact_bends;
mod contact_operator;
mod coupled_rows;
mod direct;
mod free;
mod hinge;
mod iterative;
mod lattice;
mod local_solve;
mod plan;
mod rest_factor;
mod system;
mod v_cycle;

pub(crate) use assembly::{AssemblyScratch, TangentAt};
pub(crate) use backend::{Frame, SolveFailure, Task, add_shift, filter_scale, hold_softly};
pub(crate) use contact_operator::{ContactOperator, CoupledFactor};
pub(crate) use free::{FreeParts, connected_parts};
pub(crate) use hinge::Hinges;
pub(crate) use iterative::Iterative;
pub(crate) use lattice::LatticeSystem;
pub(crate) use plan::{AssemblyPlan, Filter};
pub(super) use system::LinearSystem;
