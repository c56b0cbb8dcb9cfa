//! `Material`: ψ, P and δP on batches of deformation gradients.

use numpy::{PyArray, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sinew_elastic::{Points, Response, ResponseError};
use sinew_fem::material::Law;
use sinew_math::{Mat3, Vec3};
use toml::Value as Toml;

use crate::arrays::{as_matrices, as_vectors, floats};
use crate::error;
use crate::threads::with_threads;
use crate::values::{Meshes, to_toml};

/// A constitutive law as a function of the deformation gradient F, with the keys of a scene file:
/// `Material("stable_neo_hookean", young="30 kPa", poisson=0.45)`.
///
/// `muscle` adds contractile fibers, with the keys of a body's `muscle`. Methods take F of any shape (…, 3, 3) in
/// float64; `fibers` are unit vectors along the fibers at rest, one for all or one for each F, and `activation` is a
/// number or one for each.
#[pyclass(frozen, module = "sinew")]
pub struct Material {
    response: Response,
    text: String,
}

#[pymethods]
impl Material {
    #[new]
    #[pyo3(signature = (law, *, muscle=None, **parameters))]
    fn new(law: &str, muscle: Option<&Bound<'_, PyDict>>, parameters: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut meshes = Meshes::default();
        let mut material = toml::Table::from_iter([("type".to_string(), Toml::String(law.into()))]);
        for (key, value) in parameters.into_iter().flatten() {
            material.insert(key.extract()?, to_toml(&value, &mut meshes)?);
        }
        let mut body = toml::Table::new();
        body.insert("name".into(), Toml::String("material".into()));
        body.insert("material".into(), Toml::Table(material));
        let mesh = toml::Table::from_iter([
            ("from".to_string(), Toml::String("box".into())),
            ("size".to_string(), Toml::Array(vec![Toml::Float(1.0); 3])),
            ("cell".to_string(), Toml::Float(1.0)),
        ]);
        body.insert("mesh".into(), Toml::Table(mesh));
        let has_direction = muscle.is_some() || Law::named(law).is_some_and(Law::needs_fibers);
        if has_direction {
            // A placeholder: each call supplies its own direction.
            let along = Toml::Array([1, 0, 0].map(Toml::Integer).to_vec());
            body.insert("fibers".into(), Toml::Table(toml::Table::from_iter([("along".to_string(), along)])));
        }
        if let Some(muscle) = muscle {
            body.insert("muscle".into(), Toml::Array(vec![to_toml(muscle.as_any(), &mut meshes)?]));
        }
        let scene = toml::Table::from_iter([
            ("duration".to_string(), Toml::Float(1.0)),
            ("body".to_string(), Toml::Array(vec![Toml::Table(body)])),
        ]);
        let text = toml::to_string(&scene).map_err(error::other)?;
        let scene = sinew_scene::Scene::from_str(&text, "material", ".").map_err(|problem| error::scene(&problem))?;
        let response = sinew_run::compile::response_of(&scene, 0).map_err(|problem| error::scene(&problem))?;
        let given =
            parameters.map_or(Ok(String::new()), |parameters| parameters.repr().map(|text| text.to_string()))?;
        let text = format!(
            "{law}{}{given}{}",
            if given.is_empty() { "" } else { " " },
            if muscle.is_some() { " with muscle" } else { "" }
        );
        Ok(Self { response, text })
    }

    /// Energy per rest volume ψ(F) [J/m³], with the shape of F without its last two axes.
    #[pyo3(signature = (deformation, *, fibers=None, activation=None, out=None))]
    fn energy<'py>(
        &self,
        py: Python<'py>,
        deformation: &Bound<'py, PyAny>,
        fibers: Option<&Bound<'py, PyAny>>,
        activation: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyArrayDyn<f64>>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let asked = Asked::new(deformation, fibers, activation)?;
        let shape = asked.shape();
        asked.answer(py, &shape[..shape.len() - 2], out, |points, out| self.response.energy(points, out))
    }

    /// First Piola–Kirchhoff stress P = ∂ψ/∂F [Pa], with the shape of F.
    #[pyo3(signature = (deformation, *, fibers=None, activation=None, out=None))]
    fn stress<'py>(
        &self,
        py: Python<'py>,
        deformation: &Bound<'py, PyAny>,
        fibers: Option<&Bound<'py, PyAny>>,
        activation: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyArrayDyn<f64>>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let asked = Asked::new(deformation, fibers, activation)?;
        asked.answer(py, asked.shape(), out, |points, out| self.response.stress(points, matrices_mut(out)))
    }

    /// Change of stress δP = (∂P/∂F) : δF [Pa] for a change δF with the shape of F.
    #[pyo3(signature = (deformation, change, *, fibers=None, activation=None, out=None))]
    fn stress_differential<'py>(
        &self,
        py: Python<'py>,
        deformation: &Bound<'py, PyAny>,
        change: &Bound<'py, PyAny>,
        fibers: Option<&Bound<'py, PyAny>>,
        activation: Option<&Bound<'py, PyAny>>,
        out: Option<Bound<'py, PyArrayDyn<f64>>>,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let asked = Asked::new(deformation, fibers, activation)?;
        let change = floats(change)?;
        if change.shape() != asked.shape() {
            let message = format!("the change has the shape {:?}, F has {:?}", change.shape(), asked.shape());
            return Err(PyValueError::new_err(message));
        }
        let directions = as_matrices(&change, "the change")?;
        asked.answer(py, asked.shape(), out, |points, out| {
            self.response.stress_differential(points, directions, matrices_mut(out))
        })
    }

    /// Names of all laws.
    #[staticmethod]
    fn laws() -> Vec<&'static str> {
        sinew_scene::spec::material::Material::words()
    }

    /// Name of the law.
    #[getter]
    fn law(&self) -> &'static str {
        self.response.spec().law().name()
    }

    /// Lamé parameters μ and λ at small strains [Pa].
    #[getter]
    fn lame(&self) -> (f64, f64) {
        let point = self.response.spec().point();
        (point.mu, point.lambda)
    }

    fn __repr__(&self) -> String {
        format!("<Material {}>", self.text)
    }
}

/// Arguments of a method.
struct Asked<'py> {
    deformation: numpy::PyReadonlyArrayDyn<'py, f64>,
    fibers: Option<numpy::PyReadonlyArrayDyn<'py, f64>>,
    activation: Option<numpy::PyReadonlyArrayDyn<'py, f64>>,
}

impl<'py> Asked<'py> {
    fn new(
        deformation: &Bound<'py, PyAny>,
        fibers: Option<&Bound<'py, PyAny>>,
        activation: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Self> {
        let deformation = floats(deformation)?;
        crate::arrays::expect_shape(deformation.shape(), &[3, 3], "the deformation gradient")?;
        let read = |value: Option<&Bound<'py, PyAny>>| value.map(floats).transpose();
        Ok(Self { deformation, fibers: read(fibers)?, activation: read(activation)? })
    }

    fn shape(&self) -> &[usize] {
        self.deformation.shape()
    }

    /// Evaluates the material without the interpreter lock, and writes the result of this shape into the caller's array
    /// or into a new one.
    fn answer(
        &self,
        py: Python<'py>,
        shape: &[usize],
        out: Option<Bound<'py, PyArrayDyn<f64>>>,
        ask: impl FnOnce(&Points<'_>, &mut [f64]) -> Result<(), ResponseError> + Send,
    ) -> PyResult<Bound<'py, PyArrayDyn<f64>>> {
        let out = match out {
            // SAFETY: every number is written before it is read; an error drops the array.
            None => unsafe { PyArray::new(py, shape, false) },
            Some(out) if out.shape() == shape && out.is_c_contiguous() => out,
            Some(_) => {
                return Err(PyValueError::new_err(format!("`out` must be contiguous and of the shape {shape:?}")));
            }
        };
        let points = self.points()?;
        let mut writer = out.try_readwrite()?;
        let values = writer.as_slice_mut()?;
        py.detach(|| with_threads(|| ask(&points, values)))?
            .map_err(|error| PyValueError::new_err(error.to_string()))?;
        drop(writer);
        Ok(out)
    }

    fn points(&self) -> PyResult<Points<'_>> {
        let fibers: &[Vec3] = self.fibers.as_ref().map_or(Ok(&[][..]), |fibers| as_vectors(fibers, "fibers"))?;
        let activations = match &self.activation {
            Some(activation) => activation.as_slice()?,
            None => &[],
        };
        Ok(Points { deformations: as_matrices(&self.deformation, "the deformation gradient")?, fibers, activations })
    }
}

fn matrices_mut(values: &mut [f64]) -> &mut [Mat3] {
    // SAFETY: `Mat3` is `repr(C)` over nine numbers, so the slice holds a ninth as many.
    unsafe { std::slice::from_raw_parts_mut(values.as_mut_ptr().cast(), values.len() / 9) }
}
