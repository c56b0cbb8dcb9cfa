//! `Volume`: voxels, from and to arrays and files; distances, surfaces and cells of its labels.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use numpy::ndarray::{ArrayView3, ShapeBuilder};
use numpy::{Element, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyUntypedArrayMethods};
use pyo3::exceptions::{PyKeyError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use sinew_anatomy::field::{DistanceField, FieldOptions, LabelOptions, fields_from_labels};
use sinew_anatomy::mesher::compress::{CompressOptions, mesh_compressed};
use sinew_anatomy::mesher::{MeshOptions, isosurface, mesh_many, mesh_solid};
use sinew_anatomy::{Labels, Solid};
use sinew_geometry::{CellMesh, VoxelGrid};
use sinew_io::MeshData;
use sinew_io::image::{self, ImageData, LabelTable, Voxels};
use sinew_math::parallel::prelude::*;
use sinew_math::{Mat3, Vec3};
use sinew_record::record::write_file;
use sinew_scene::nearest;

use crate::arrays::{floats, read_only};
use crate::error;
use crate::mesh::{Mesh, mesh_of};
use crate::values::length;
use crate::waiting::aside;

/// An image: labels of tissues, or gray values, and where its voxels are. Immutable.
///
/// The world is that of NIfTI: x to the right of the patient, y to the front, z up, in meters. Arrays have the shape (x,
/// y, z) of the image, as in nibabel.
#[pyclass(frozen, module = "sinew")]
pub struct Volume {
    image: Arc<ImageData>,
}

impl From<Arc<ImageData>> for Volume {
    fn from(image: Arc<ImageData>) -> Self {
        Self { image }
    }
}

#[pymethods]
impl Volume {
    /// A volume from an array of shape (x, y, z): whole numbers are labels from 0 (background) to 65535, other numbers gray
    /// values.
    ///
    /// `spacing` is the way from a voxel to the next: one length or three, in m or as texts such as "0.8 mm"; `origin` is the
    /// center of the first voxel. `affine`, of shape (4, 4) in m, stands for both and may turn the axes. `names` is a dict
    /// of names by label.
    #[new]
    #[pyo3(signature = (voxels, *, spacing=None, origin=None, affine=None, names=None))]
    fn new(
        voxels: &Bound<'_, PyAny>,
        spacing: Option<&Bound<'_, PyAny>>,
        origin: Option<&Bound<'_, PyAny>>,
        affine: Option<&Bound<'_, PyAny>>,
        names: Option<BTreeMap<u16, String>>,
    ) -> PyResult<Self> {
        let (size, voxels) = voxels_of(voxels)?;
        let (origin, axes) = match (affine, spacing) {
            (Some(affine), None) if origin.is_none() => from_affine(affine)?,
            (None, Some(spacing)) => {
                let spacing = three(spacing, "spacing")?;
                if let Some(wrong) = spacing.iter().find(|length| **length <= 0.0) {
                    return Err(PyValueError::new_err(format!("the spacing must be positive, not {wrong}")));
                }
                let origin = origin.map(|origin| three(origin, "origin")).transpose()?.unwrap_or_default();
                (Vec3::from(origin), Mat3::diagonal(Vec3::from(spacing)))
            }
            _ => {
                let message =
                    "a volume needs either `spacing`, such as \"1 mm\", with or without `origin`, or `affine`";
                return Err(PyTypeError::new_err(message));
            }
        };
        let mut table = LabelTable::default();
        names.unwrap_or_default().into_iter().for_each(|(label, name)| table.insert(label, name, None));
        let grid = VoxelGrid { size, origin, axes };
        Ok(Self { image: Arc::new(ImageData { grid, voxels, table, notes: Vec::new() }) })
    }

    /// Reads NIfTI, NRRD, MetaImage, DICOM, or a folder of DICOM or PNG slices.
    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        let image = aside(py, |_| image::load(&path).map_err(error::volume))??;
        Ok(Self { image: Arc::new(image) })
    }

    /// Writes .nii, .nii.gz or .nrrd.
    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        aside(py, |_| {
            let bytes = image::save(&self.image, &path).map_err(error::volume)?;
            write_file(&path, &bytes).map_err(error::volume)
        })?
    }

    /// What the voxels hold, shape (x, y, z): labels as uint16 or gray values as float32. A read-only view.
    #[getter]
    fn voxels<'py>(slf: &Bound<'py, Self>) -> Bound<'py, PyAny> {
        let image = &slf.get().image;
        // SAFETY: an image never changes, and the array keeps it alive.
        unsafe {
            match &image.voxels {
                Voxels::Labels(labels) => view_voxels(labels, image.grid.size, slf.clone().into_any()).into_any(),
                Voxels::Grey(values) => view_voxels(values, image.grid.size, slf.clone().into_any()).into_any(),
            }
        }
    }

    /// Whether the voxels are labels; otherwise they are gray values.
    #[getter]
    fn has_labels(&self) -> bool {
        matches!(self.image.voxels, Voxels::Labels(_))
    }

    /// Number of voxels along each axis.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        self.image.grid.size.into()
    }

    /// Way from a voxel to the next along each axis [m].
    #[getter]
    fn spacing(&self) -> (f64, f64, f64) {
        self.image.spacing().to_array().into()
    }

    /// From indices of voxels to places in the world [m], shape (4, 4).
    #[getter]
    fn affine<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let grid = &self.image.grid;
        let row = |i: usize| -> Vec<f64> {
            (0..3).map(|k| grid.axes.column(k)[i]).chain(std::iter::once(grid.origin[i])).collect()
        };
        let rows = [row(0), row(1), row(2), vec![0.0, 0.0, 0.0, 1.0]];
        PyArray2::from_vec2(py, &rows).map_err(error::volume)
    }

    /// Names by label, as far as the file has them.
    #[getter]
    fn names(&self) -> BTreeMap<u16, String> {
        self.image.table.iter().map(|(label, info)| (label, info.name.clone())).collect()
    }

    /// Colors by label, as far as the file has them: red, green, blue from 0 to 1.
    #[getter]
    fn colors(&self) -> BTreeMap<u16, [f32; 3]> {
        self.image.table.iter().filter_map(|(label, info)| Some((label, info.color?))).collect()
    }

    /// Number of voxels by label, for labels that voxels have.
    #[getter]
    fn counts(&self) -> BTreeMap<u16, usize> {
        self.image.label_counts()
    }

    /// What a person should know: units that were guessed, axes that are sheared, parts left out.
    #[getter]
    fn notes(&self) -> Vec<String> {
        self.image.notes.clone()
    }

    /// Signed distance to the surface of a tissue [m], negative inside: gray values at the same voxels.
    ///
    /// `labels` are names or numbers, one or several. Distances are exact near the surface and limited to `band` voxels.
    #[pyo3(signature = (labels, *, band=4.0))]
    fn distance(&self, py: Python<'_>, labels: &Bound<'_, PyAny>, band: f64) -> PyResult<Self> {
        let labels = self.numbers(labels)?;
        let image = &self.image;
        let options =
            LabelOptions { field: FieldOptions { band, ..FieldOptions::default() }, ..LabelOptions::default() };
        let values = aside(py, |_| -> PyResult<Vec<f32>> {
            let field = self.field(&labels, &options)?;
            let limit = field.limit();
            let place = |index: usize| image.grid.to_world(Vec3::from(image.voxel_of(index).map(|i| i as f64)));
            let value = |index| field.distance(place(index)).clamp(-limit, limit) as f32;
            Ok((0..image.grid.len()).into_par_iter().map(value).collect())
        })??;
        Ok(Self { image: Arc::new(ImageData::of_grey(image.grid, values)) })
    }

    /// The surface of a tissue: closed, with edges of about `cell` (in m, or a text such as "2 mm").
    #[pyo3(signature = (labels, *, cell))]
    fn surface(&self, py: Python<'_>, labels: &Bound<'_, PyAny>, cell: &Bound<'_, PyAny>) -> PyResult<Mesh> {
        let (labels, cell) = (self.numbers(labels)?, length(cell, "cell")?);
        let surface = aside(py, |_| {
            let field = self.field(&labels, &LabelOptions::default())?;
            isosurface(&field, cell).map_err(error::mesh)
        })??;
        Ok(Mesh::from(Arc::new(MeshData::from(&surface))))
    }

    /// Tetrahedra that end at the surfaces of tissues, with cells of `cell` (in m, or a text such as "4 mm").
    ///
    /// `labels` are names or numbers; by default all but the background. Several become one mesh, whose cells share faces
    /// where tissues touch; the cell field `label` has the numbers, and each name is a set of cells. `method` is "stuffed",
    /// which bounds all angles, or "compressed", for one tissue, with the better worst angle.
    #[pyo3(signature = (labels=None, *, cell, method="stuffed", improve=true))]
    fn tetrahedra(
        &self,
        py: Python<'_>,
        labels: Option<&Bound<'_, PyAny>>,
        cell: &Bound<'_, PyAny>,
        method: &str,
        improve: bool,
    ) -> PyResult<Mesh> {
        let is_compressed = match method {
            "stuffed" => false,
            "compressed" => true,
            other => {
                let message = format!("there is no method \"{other}\"; there are stuffed, compressed");
                return Err(PyValueError::new_err(message));
            }
        };
        let labels = match labels {
            Some(labels) => self.numbers(labels)?,
            None => self.present(),
        };
        let cell = length(cell, "cell")?;
        if is_compressed && labels.len() > 1 {
            let count = labels.len();
            let message = format!("{count} labels cannot be compressed into one mesh: choose one, or \"stuffed\"");
            return Err(PyValueError::new_err(message));
        }
        let options = MeshOptions { improve, ..MeshOptions::new(cell) };
        let mesh = aside(py, |_| {
            let fields = self.fields(&labels)?;
            match fields.as_slice() {
                [only] if is_compressed => {
                    mesh_compressed(only, &CompressOptions::new(cell)).map(|made| made.mesh).map_err(error::mesh)
                }
                [only] => mesh_solid(only, &options).map(|made| made.mesh).map_err(error::mesh),
                _ => self.together(&fields, &labels, &options),
            }
        })??;
        Ok(mesh_of(&mesh))
    }

    fn __repr__(&self) -> String {
        let [x, y, z] = self.image.grid.size;
        let spacing = self.image.spacing().to_array().map(|length| sinew_scene::format_number(length * 1e3));
        let what = match &self.image.voxels {
            Voxels::Labels(_) => match self.present().len() {
                1 => "1 label".to_string(),
                count => format!("{count} labels"),
            },
            Voxels::Grey(_) => "gray values".to_string(),
        };
        format!("<Volume: {x} × {y} × {z} voxels of {} mm, {what}>", spacing.join(" × "))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.image == other.image
    }

    fn __reduce__<'py>(slf: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let py = slf.py();
        let volume = slf.get();
        let arguments = (Self::voxels(slf), volume.affine(py)?, volume.names(), volume.colors(), volume.notes());
        let restore = py.import("sinew._sinew")?.getattr("Volume")?.getattr("_restore")?;
        Ok((restore, arguments.into_pyobject(py)?.into_any()))
    }

    #[staticmethod]
    fn _restore(
        voxels: &Bound<'_, PyAny>,
        affine: &Bound<'_, PyAny>,
        names: BTreeMap<u16, String>,
        colors: BTreeMap<u16, [f32; 3]>,
        notes: Vec<String>,
    ) -> PyResult<Self> {
        let (size, voxels) = voxels_of(voxels)?;
        let (origin, axes) = from_affine(affine)?;
        let mut table = LabelTable::default();
        names.into_iter().for_each(|(label, name)| table.insert(label, name, colors.get(&label).copied()));
        Ok(Self { image: Arc::new(ImageData { grid: VoxelGrid { size, origin, axes }, voxels, table, notes }) })
    }
}

impl Volume {
    /// The image, shared.
    pub fn shared(&self) -> Arc<ImageData> {
        Arc::clone(&self.image)
    }

    /// Labels that voxels have, without the background.
    fn present(&self) -> Vec<u16> {
        self.image.label_counts().into_keys().filter(|label| *label > 0).collect()
    }

    /// Numbers of labels given by name or number, one or several.
    fn numbers(&self, labels: &Bound<'_, PyAny>) -> PyResult<Vec<u16>> {
        self.labels()?;
        if let Ok(number) = labels.extract::<i64>() {
            return Ok(vec![self.checked(number)?]);
        }
        if let Ok(name) = labels.extract::<String>() {
            return Ok(vec![self.named(&name)?]);
        }
        let list = labels
            .try_iter()
            .map_err(|_| PyTypeError::new_err(format!("labels are names or numbers, one or several, not {labels}")))?;
        let mut numbers = list
            .map(|item| {
                let item = item?;
                match item.extract::<String>() {
                    Ok(name) => self.named(&name),
                    Err(_) => self.checked(item.extract()?),
                }
            })
            .collect::<PyResult<Vec<u16>>>()?;
        numbers.sort_unstable();
        numbers.dedup();
        Ok(numbers)
    }

    fn checked(&self, number: i64) -> PyResult<u16> {
        let found = u16::try_from(number).ok().filter(|label| *label > 0 && self.present().contains(label));
        found.ok_or_else(|| {
            let known: Vec<String> = self.present().iter().take(24).map(u16::to_string).collect();
            PyKeyError::new_err(format!("no voxel has the label {number}; there are {}", known.join(", ")))
        })
    }

    fn named(&self, name: &str) -> PyResult<u16> {
        let table = &self.image.table;
        let number =
            table.iter().find(|(_, info)| info.name == name).map(|(label, _)| label).or_else(|| table.find(name));
        let Some(number) = number else {
            let known = || table.iter().map(|(_, info)| info.name.as_str());
            let hint = match nearest(name, known()) {
                Some(near) => format!("did you mean \"{near}\"?"),
                None => format!("there are {}", known().take(24).collect::<Vec<_>>().join(", ")),
            };
            return Err(PyKeyError::new_err(format!("there is no label \"{name}\"; {hint}")));
        };
        self.checked(i64::from(number))
    }

    fn labels(&self) -> PyResult<Labels<'_>> {
        let voxels = self.image.labels().map_err(error::volume)?;
        Ok(Labels { grid: self.image.grid, voxels })
    }

    /// The distance of several labels together.
    fn field(&self, labels: &[u16], options: &LabelOptions) -> PyResult<DistanceField> {
        DistanceField::from_labels(&self.labels()?, labels, options).map_err(error::volume)
    }

    /// The distance of each label.
    fn fields(&self, labels: &[u16]) -> PyResult<Vec<DistanceField>> {
        let tissues: Vec<&[u16]> = labels.iter().map(std::slice::from_ref).collect();
        let fields = fields_from_labels(&self.labels()?, &tissues, &LabelOptions::default());
        let fields = fields.map_err(error::volume)?;
        fields.into_iter().map(|field| field.map_err(error::volume)).collect()
    }

    /// One mesh of several labels.
    fn together(&self, fields: &[DistanceField], labels: &[u16], options: &MeshOptions) -> PyResult<CellMesh> {
        let solids: Vec<&dyn Solid> = fields.iter().map(|field| field as &dyn Solid).collect();
        let mut mesh = mesh_many(&solids, options).map_err(error::mesh)?.mesh;
        let solid_of_cell = mesh.cell_labels().to_vec();
        for (number, label) in labels.iter().enumerate() {
            let own = (0..solid_of_cell.len() as u32).filter(|cell| solid_of_cell[*cell as usize] as usize == number);
            mesh = mesh.with_cell_set(self.image.table.name(*label), own.collect()).map_err(error::mesh)?;
        }
        let numbers = solid_of_cell.iter().map(|number| u32::from(labels[*number as usize])).collect();
        mesh.with_cell_labels(numbers).map_err(error::mesh)
    }
}

/// A read-only view of voxels, x fastest, as an array of shape (x, y, z).
///
/// # Safety
/// The voxels keep their address and number while `owner` lives.
unsafe fn view_voxels<'py, T: Element>(
    voxels: &[T],
    size: [usize; 3],
    owner: Bound<'py, PyAny>,
) -> Bound<'py, PyArray3<T>> {
    // SAFETY: the caller guarantees that the memory outlives `owner`, which the array keeps alive; an image has as many
    // voxels as its grid.
    let array = unsafe {
        let view = ArrayView3::from_shape_ptr((size[0], size[1], size[2]).f(), voxels.as_ptr());
        PyArray3::borrow_from_array(&view, owner)
    };
    read_only(&array);
    array
}

/// Size and voxels of an array, x fastest.
fn voxels_of(value: &Bound<'_, PyAny>) -> PyResult<([usize; 3], Voxels)> {
    let numpy = value.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let shape: Vec<usize> = array.getattr("shape")?.extract()?;
    let &[x, y, z] = shape.as_slice() else {
        let message = format!("voxels must have the shape (x, y, z), not {shape:?}");
        return Err(PyValueError::new_err(message));
    };
    if x * y * z == 0 {
        return Err(PyValueError::new_err(format!("there are no voxels: their shape is {shape:?}")));
    }
    let dtype = array.getattr("dtype")?;
    let kind: String = dtype.getattr("kind")?.extract()?;
    let voxels = match kind.as_str() {
        "b" | "u" | "i" => {
            let (low, high) = (array.call_method0("min")?, array.call_method0("max")?);
            let (low, high): (i128, i128) =
                (low.call_method0("item")?.extract()?, high.call_method0("item")?.extract()?);
            if low < 0 || high > i128::from(u16::MAX) {
                let message =
                    format!("labels are whole numbers from 0 to 65535, not {}", if low < 0 { low } else { high });
                return Err(PyValueError::new_err(message));
            }
            Voxels::Labels(flat(&numpy, &array)?)
        }
        "f" => {
            let values: Vec<f32> = flat(&numpy, &array)?;
            if let Some(index) = values.iter().position(|value| !value.is_finite()) {
                let message = format!("voxel ({}, {}, {}) is not finite", index % x, index / x % y, index / (x * y));
                return Err(PyValueError::new_err(message));
            }
            Voxels::Grey(values)
        }
        _ => return Err(PyTypeError::new_err(format!("voxels are numbers, not {dtype}"))),
    };
    Ok(([x, y, z], voxels))
}

/// The numbers of an array, its first axis fastest.
fn flat<T: Element + Clone>(numpy: &Bound<'_, PyModule>, array: &Bound<'_, PyAny>) -> PyResult<Vec<T>> {
    let turned = array.getattr("T")?;
    let array = numpy.call_method1("require", (turned, T::get_dtype(array.py()), ["C", "A"]))?;
    let array = array.cast_into::<PyArrayDyn<T>>()?;
    let values = array.readonly();
    Ok(values.as_slice().map_err(|_| PyTypeError::new_err("voxels must be contiguous"))?.to_vec())
}

/// Three lengths [m]: from one for all, or three.
fn three(value: &Bound<'_, PyAny>, what: &str) -> PyResult<[f64; 3]> {
    if let Ok(one) = length(value, what) {
        return Ok([one; 3]);
    }
    let wrong = || PyTypeError::new_err(format!("{what} is one length or three, in m or as texts such as \"1 mm\""));
    let list: Vec<Bound<'_, PyAny>> = value.try_iter().map_err(|_| wrong())?.collect::<PyResult<_>>()?;
    let &[x, y, z] = &list.iter().collect::<Vec<_>>()[..] else { return Err(wrong()) };
    Ok([length(x, what)?, length(y, what)?, length(z, what)?])
}

/// Origin and axes from a matrix of shape (4, 4).
fn from_affine(value: &Bound<'_, PyAny>) -> PyResult<(Vec3, Mat3)> {
    let array = floats(value)?;
    if array.shape() != [4, 4] {
        return Err(PyValueError::new_err(format!("affine must have the shape (4, 4), not {:?}", array.shape())));
    }
    let values = array.as_slice().map_err(|_| PyTypeError::new_err("affine must be contiguous"))?;
    let column = |k: usize| Vec3::new(values[k], values[4 + k], values[8 + k]);
    let axes = Mat3::from_columns(column(0), column(1), column(2));
    let lengths: f64 = (0..3).map(|k| column(k).norm()).product();
    if !column(3).is_finite() || !(axes.determinant().abs() > 1e-6 * lengths) || values[12..] != [0.0, 0.0, 0.0, 1.0] {
        let message = "affine must lead from voxels to places: finite, its axes not in a plane, its last row 0 0 0 1";
        return Err(PyValueError::new_err(message));
    }
    Ok((column(3), axes))
}
