//! Forces written in Python, as part of a simulation.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use numpy::{PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sinew_fem::force::Linearized;
use sinew_fem::material::Tangent;
use sinew_fem::{Force, Model, StepContext};
use sinew_math::eigen::symmetric_eigen;
use sinew_math::{Mat3, Vec3};

use crate::arrays::{as_vectors, floats, integers, vectors};
use crate::waiting::Objection;

/// Step of finite differences that replace a missing second derivative, relative to the size of the body.
const DIFFERENCE: f64 = 1e-6;

/// Largest number of nodes of a coupled part whose matrix is made definite by eigenvalues; larger parts use diagonal
/// dominance.
const MAX_EIGEN_NODES: usize = 32;

/// An object shared by a simulation and the force in its model: one reference, which Python's garbage collector can
/// follow and clear.
pub type SharedObject = Arc<Mutex<Option<Py<PyAny>>>>;

/// The declared properties of a Python force.
pub struct WantedForce {
    object: SharedObject,
    name: String,
    body: Option<String>,
    nodes: Option<Vec<u32>>,
    /// Pairs of indices into its list of nodes.
    couplings: Vec<[u32; 2]>,
    has_potential: bool,
    has_product: bool,
}

/// Reads the declared properties of forces.
pub fn read_forces(py: Python<'_>, forces: &[Py<PyAny>]) -> PyResult<Vec<WantedForce>> {
    forces.iter().map(|force| read_force(force.bind(py))).collect()
}

fn read_force(force: &Bound<'_, PyAny>) -> PyResult<WantedForce> {
    let class = force.get_type().name()?.to_string();
    let has = |name: &str| force.getattr(name).is_ok_and(|value| value.is_callable());
    if !has("gradient") {
        return Err(PyTypeError::new_err(format!("{class} has no method `gradient(x, time)`: see sinew.Force")));
    }
    let given = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        Ok(match force.hasattr(name)? {
            true => Some(force.getattr(name)?).filter(|value| !value.is_none()),
            false => None,
        })
    };
    let list = |value: Bound<'_, PyAny>, what: &str, axes: usize| -> PyResult<Vec<u32>> {
        let array = integers(&value, &format!("{class}: {what}"))?;
        let shape = array.shape();
        if array.len() > 0 && (shape.len() != axes || (axes == 2 && shape[1] != 2)) {
            let wanted = if axes == 2 { "(m, 2)" } else { "(n,)" };
            return Err(PyValueError::new_err(format!("{class}: {what} must have the shape {wanted}, not {shape:?}")));
        }
        let values = array.readonly();
        let wrong = || PyValueError::new_err(format!("{class}: {what} must be numbers from 0"));
        values.as_slice()?.iter().map(|&value| u32::try_from(value).map_err(|_| wrong())).collect()
    };
    let couplings = match given("couplings")? {
        Some(value) => list(value, "couplings", 2)?.chunks_exact(2).map(|pair| [pair[0], pair[1]]).collect(),
        None => Vec::new(),
    };
    Ok(WantedForce {
        name: given("name")?.map_or(Ok(class.clone()), |name| name.extract())?,
        body: given("body")?.map(|body| body.extract()).transpose()?,
        nodes: given("nodes")?.map(|nodes| list(nodes, "nodes", 1)).transpose()?,
        couplings,
        has_potential: has("potential"),
        has_product: has("hessian_product"),
        object: Arc::new(Mutex::new(Some(force.clone().unbind()))),
    })
}

impl WantedForce {
    /// The object itself.
    pub fn object(&self) -> SharedObject {
        Arc::clone(&self.object)
    }

    /// The model points that it acts on.
    pub fn points(&self, model: &Model) -> Result<Vec<u32>, String> {
        let names: Vec<&str> = model.bodies.iter().map(|body| body.name.as_str()).collect();
        let body = match &self.body {
            Some(name) => model.find_body(name).ok_or_else(|| {
                format!("force {}: there is no body \"{name}\"; there are {}", self.name, names.join(", "))
            })?,
            None if model.bodies.len() == 1 => 0,
            None => {
                return Err(format!(
                    "force {}: on which `body` does it act? There are {}",
                    self.name,
                    names.join(", ")
                ));
            }
        };
        let points = &model.bodies[body].points;
        let count = points.len();
        match &self.nodes {
            None => Ok(points.clone().map(|point| point as u32).collect()),
            Some(nodes) => {
                if let Some(node) = nodes.iter().find(|&&node| node as usize >= count) {
                    return Err(format!("force {}: node {node} of {} nodes does not exist", self.name, count));
                }
                if nodes.iter().collect::<BTreeSet<_>>().len() < nodes.len() {
                    return Err(format!("force {}: a node is listed twice", self.name));
                }
                Ok(nodes.iter().map(|&node| points.start as u32 + node).collect())
            }
        }
    }

    /// Builds the force for a model.
    pub fn fit(self, model: &Model, objection: &Arc<Objection>) -> Result<PythonForce, String> {
        let points = self.points(model)?;
        if let Some(pair) = self.couplings.iter().find(|pair| pair.iter().any(|&k| k as usize >= points.len())) {
            return Err(format!("force {}: the coupling {pair:?} is not one of its {} nodes", self.name, points.len()));
        }
        let mut neighbors: Vec<BTreeSet<u32>> = (0..points.len() as u32).map(|k| BTreeSet::from([k])).collect();
        for &[a, b] in &self.couplings {
            neighbors[a as usize].insert(b);
            neighbors[b as usize].insert(a);
        }
        let neighbors: Vec<Vec<u32>> = neighbors.into_iter().map(|set| set.into_iter().collect()).collect();
        let size = model.rest_size();
        Ok(PythonForce {
            colors: colors(&neighbors),
            parts: parts(&neighbors),
            neighbors,
            points,
            step: DIFFERENCE * if size > 0.0 { size } else { 1.0 },
            wanted: self,
            objection: Arc::clone(objection),
        })
    }
}

/// Groups of nodes that can move at once without two of them affecting the same node.
fn colors(neighbors: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut color_of: Vec<Option<usize>> = vec![None; neighbors.len()];
    let mut groups: Vec<Vec<u32>> = Vec::new();
    for node in 0..neighbors.len() {
        let felt = neighbors[node].iter().flat_map(|&near| &neighbors[near as usize]);
        let taken: BTreeSet<usize> = felt.filter_map(|&other| color_of[other as usize]).collect();
        let color = (0..).find(|color| !taken.contains(color)).unwrap_or(0);
        color_of[node] = Some(color);
        if color == groups.len() {
            groups.push(Vec::new());
        }
        groups[color].push(node as u32);
    }
    groups
}

/// Connected parts.
fn parts(neighbors: &[Vec<u32>]) -> Vec<Vec<u32>> {
    let mut is_seen = vec![false; neighbors.len()];
    let mut parts = Vec::new();
    for start in 0..neighbors.len() {
        if is_seen[start] {
            continue;
        }
        is_seen[start] = true;
        let (mut part, mut next) = (vec![start as u32], 0);
        while let Some(&node) = part.get(next) {
            next += 1;
            for &near in &neighbors[node as usize] {
                if !std::mem::replace(&mut is_seen[near as usize], true) {
                    part.push(near);
                }
            }
        }
        part.sort_unstable();
        parts.push(part);
    }
    parts
}

/// A Python force. Computes its second-derivative blocks from products with vectors: three for each color of its nodes.
pub struct PythonForce {
    wanted: WantedForce,
    points: Vec<u32>,
    /// Coupled nodes of each node, including itself.
    neighbors: Vec<Vec<u32>>,
    colors: Vec<Vec<u32>>,
    parts: Vec<Vec<u32>>,
    /// Length of a difference [m].
    step: f64,
    objection: Arc<Objection>,
}

/// Second derivatives between nodes, in both orders.
type Blocks = BTreeMap<(u32, u32), Mat3>;

impl PythonForce {
    /// The object, until the garbage collector clears it.
    fn object<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        self.wanted.object.lock().ok()?.as_ref().map(|object| object.bind(py).clone())
    }

    fn gather(&self, x: &[Vec3]) -> Vec<Vec3> {
        self.points.iter().map(|&point| x[point as usize]).collect()
    }

    /// Calls a method that returns a vector per node; `None` after an exception, which is stored.
    fn vectors_of(&self, method: &str, x: &[Vec3], dx: Option<&[Vec3]>, time: f64) -> Option<Vec<Vec3>> {
        if self.objection.is_raised() {
            return None;
        }
        Python::attach(|py| {
            let object = self.object(py)?;
            let x = vectors(py, x);
            let answer = match dx {
                Some(dx) => object.call_method1(method, (x, vectors(py, dx), time)),
                None => object.call_method1(method, (x, time)),
            };
            let read = answer.and_then(|answer| {
                let array = floats(&answer)?;
                let values = as_vectors(&array, &format!("{}.{method}", self.wanted.name))?;
                match values.len() == self.points.len() {
                    true => Ok(values.to_vec()),
                    false => Err(PyValueError::new_err(format!(
                        "{}.{method} returned {} vectors for {} nodes",
                        self.wanted.name,
                        values.len(),
                        self.points.len()
                    ))),
                }
            });
            read.map_err(|error| self.objection.raise(error)).ok()
        })
    }

    fn product(&self, x: &[Vec3], dx: &[Vec3], time: f64) -> Option<Vec<Vec3>> {
        if self.wanted.has_product {
            return self.vectors_of("hessian_product", x, Some(dx), time);
        }
        let moved =
            |sign: f64| -> Vec<Vec3> { x.iter().zip(dx).map(|(x, dx)| *x + *dx * (sign * self.step)).collect() };
        let plus = self.vectors_of("gradient", &moved(1.0), None, time)?;
        let minus = self.vectors_of("gradient", &moved(-1.0), None, time)?;
        Some(plus.iter().zip(&minus).map(|(plus, minus)| (*plus - *minus) / (2.0 * self.step)).collect())
    }

    fn blocks(&self, x: &[Vec3], time: f64) -> Option<Blocks> {
        let mut blocks = Blocks::new();
        for color in &self.colors {
            for axis in 0..3 {
                let mut dx = vec![Vec3::zero(); x.len()];
                color.iter().for_each(|&node| dx[node as usize][axis] = 1.0);
                let felt = self.product(x, &dx, time)?;
                for &node in color {
                    for &near in &self.neighbors[node as usize] {
                        let block = blocks.entry((near, node)).or_insert_with(Mat3::zero);
                        (0..3).for_each(|row| block.rows[row][axis] = felt[near as usize][row]);
                    }
                }
            }
        }
        // Exact second derivatives are symmetric; finite differences only nearly.
        let mirrored: Blocks = blocks.iter().map(|(&(a, b), block)| ((b, a), block.transpose())).collect();
        blocks.iter_mut().for_each(|(pair, block)| *block = (*block + mirrored[pair]) * 0.5);
        Some(blocks)
    }

    /// Replaces the blocks by ones without negative eigenvalues.
    fn make_definite(&self, blocks: &mut Blocks) {
        for part in &self.parts {
            if part.len() > MAX_EIGEN_NODES {
                self.make_dominant(part, blocks);
                continue;
            }
            let place: BTreeMap<u32, usize> = part.iter().enumerate().map(|(k, &node)| (node, k)).collect();
            let size = 3 * part.len();
            let mut matrix = vec![0.0; size * size];
            for (&(a, b), block) in blocks.iter() {
                if let (Some(a), Some(b)) = (place.get(&a), place.get(&b)) {
                    for i in 0..9 {
                        matrix[(3 * a + i / 3) * size + 3 * b + i % 3] = block.rows[i / 3][i % 3];
                    }
                }
            }
            let eigen = symmetric_eigen(&matrix, size);
            if eigen.values.iter().all(|value| *value >= 0.0) {
                continue;
            }
            // The definite matrix may couple all nodes; undeclared blocks go to the diagonal, which keeps it definite.
            let definite = |row: usize, column: usize| -> f64 {
                let vectors =
                    eigen.values.iter().zip(eigen.vectors.chunks_exact(size)).filter(|(value, _)| **value > 0.0);
                vectors.map(|(value, vector)| value * vector[row] * vector[column]).sum()
            };
            for (a, &node) in part.iter().enumerate() {
                for (b, &other) in part.iter().enumerate() {
                    let entry = |i: usize| definite(3 * a + i / 3, 3 * b + i % 3);
                    match blocks.get_mut(&(node, other)) {
                        Some(block) => (0..9).for_each(|i| block.rows[i / 3][i % 3] = entry(i)),
                        None => {
                            let size: f64 = (0..9).map(|i| entry(i).abs()).sum();
                            if let Some(own) = blocks.get_mut(&(node, node)) {
                                (0..3).for_each(|i| own.rows[i][i] += size);
                            }
                        }
                    }
                }
            }
        }
    }

    /// Adds to the diagonal of each row what it needs to dominate the rest [Gershgorin].
    fn make_dominant(&self, part: &[u32], blocks: &mut Blocks) {
        for &node in part {
            for row in 0..3 {
                let near = &self.neighbors[node as usize];
                let sum: f64 =
                    near.iter().map(|&b| (0..3).map(|c| blocks[&(node, b)].rows[row][c].abs()).sum::<f64>()).sum();
                if let Some(own) = blocks.get_mut(&(node, node)) {
                    let diagonal = own.rows[row][row];
                    own.rows[row][row] += (sum - diagonal.abs() - diagonal).max(0.0);
                }
            }
        }
    }
}

impl Force for PythonForce {
    fn name(&self) -> &str {
        &self.wanted.name
    }

    fn potential(&self, x: &[Vec3], ctx: &StepContext<'_>) -> Option<f64> {
        if !self.wanted.has_potential {
            return None;
        }
        if self.objection.is_raised() {
            return Some(f64::NAN);
        }
        let x = self.gather(x);
        Python::attach(|py| {
            let answer = self.object(py)?.call_method1("potential", (vectors(py, &x), ctx.time));
            match answer.and_then(|answer| answer.extract::<f64>()) {
                Ok(value) => Some(value),
                Err(error) => {
                    self.objection.raise(error);
                    Some(f64::NAN)
                }
            }
        })
    }

    fn add_gradient(&self, x: &[Vec3], ctx: &StepContext<'_>, gradient: &mut [Vec3]) {
        let own = self.vectors_of("gradient", &self.gather(x), None, ctx.time);
        for (k, &point) in self.points.iter().enumerate() {
            gradient[point as usize] += own.as_ref().map_or(Vec3::splat(f64::NAN), |own| own[k]);
        }
    }

    fn linearize(&self, x: &[Vec3], ctx: &StepContext<'_>, tangent: Tangent, out: &mut Linearized) {
        let Some(mut blocks) = self.blocks(&self.gather(x), ctx.time) else { return };
        if tangent == Tangent::Definite {
            self.make_definite(&mut blocks);
        }
        for ((a, b), block) in blocks {
            out.add(self.points[a as usize], self.points[b as usize], block);
        }
    }

    fn couplings(&self) -> Vec<(u32, u32)> {
        let pairs = self.wanted.couplings.iter().filter(|[a, b]| a != b);
        pairs.map(|&[a, b]| (self.points[a as usize], self.points[b as usize])).collect()
    }
}
