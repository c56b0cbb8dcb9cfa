//! numpy arrays over our memory, and slices over numpy's.

use numpy::ndarray::{ArrayView1, ArrayView2, ArrayView3};
use numpy::{
    Element, PyArray1, PyArray2, PyArray3, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use sinew_math::{Mat3, Vec3};

/// A read-only view of vectors as an array of shape (n, 3).
///
/// # Safety
/// The vectors keep their address and number while `owner` lives.
pub unsafe fn view_vectors<'py>(vectors: &[Vec3], owner: Bound<'py, PyAny>) -> Bound<'py, PyArray2<f64>> {
    let flat = Vec3::as_flattened(vectors);
    // SAFETY: the caller guarantees that the memory outlives `owner`, which the array keeps alive; its length is 3 n.
    let array = unsafe {
        let view = ArrayView2::from_shape_ptr((vectors.len(), 3), flat.as_ptr());
        PyArray2::borrow_from_array(&view, owner)
    };
    read_only(&array);
    array
}

/// A read-only view of numbers as an array of shape (rows, columns).
///
/// # Safety
/// As for [`view_vectors`].
pub unsafe fn view_rows<'py, T: Element>(
    values: &[T],
    columns: usize,
    owner: Bound<'py, PyAny>,
) -> Bound<'py, PyArray2<T>> {
    let rows = values.len() / columns.max(1);
    // SAFETY: the caller guarantees that the memory outlives `owner`; rows × columns is at most its length.
    let array = unsafe {
        let view = ArrayView2::from_shape_ptr((rows, columns), values.as_ptr());
        PyArray2::borrow_from_array(&view, owner)
    };
    read_only(&array);
    array
}

/// A read-only view of numbers.
///
/// # Safety
/// As for [`view_vectors`].
pub unsafe fn view_values<'py, T: Element>(values: &[T], owner: Bound<'py, PyAny>) -> Bound<'py, PyArray1<T>> {
    // SAFETY: the caller guarantees that the memory outlives `owner`.
    let array = unsafe { PyArray1::borrow_from_array(&ArrayView1::from(values), owner) };
    read_only(&array);
    array
}

/// Makes the array read-only: it is memory of ours.
pub fn read_only<D>(array: &Bound<'_, numpy::PyArray<impl Element, D>>)
where
    D: numpy::ndarray::Dimension,
{
    // Never borrowed before: the line above created it.
    if let Ok(array) = array.try_readwrite() {
        drop(array.make_nonwriteable());
    }
}

/// A new array of shape (n, 3).
pub fn vectors<'py>(py: Python<'py>, vectors: &[Vec3]) -> Bound<'py, PyArray2<f64>> {
    let flat = Vec3::as_flattened(vectors);
    // SAFETY: n × 3 is the length of the slice, and the view ends with this function.
    PyArray2::from_array(py, &unsafe { ArrayView2::from_shape_ptr((vectors.len(), 3), flat.as_ptr()) })
}

/// A new array of shape (n, 3, 3).
pub fn matrices<'py>(py: Python<'py>, matrices: &[Mat3]) -> Bound<'py, PyArray3<f64>> {
    // SAFETY: `Mat3` is `repr(C)` over three rows of three numbers, without padding; the view ends with this function.
    let view = unsafe { ArrayView3::from_shape_ptr((matrices.len(), 3, 3), matrices.as_ptr().cast::<f64>()) };
    PyArray3::from_array(py, &view)
}

/// A new array of shape (n, N).
pub fn rows<'py, T: Element, const N: usize>(py: Python<'py>, rows: &[[T; N]]) -> Bound<'py, PyArray2<T>> {
    // SAFETY: arrays of arrays have no padding; the view ends with this function.
    PyArray2::from_array(py, &unsafe { ArrayView2::from_shape_ptr((rows.len(), N), rows.as_ptr().cast::<T>()) })
}

/// Any real numbers as a contiguous float64 array, without a copy if they already are one.
pub fn floats<'py>(value: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArrayDyn<'py, f64>> {
    Ok(contiguous::<f64>(value, "biuf", "real numbers are expected")?.readonly())
}

/// Any integers as a contiguous int64 array, without a copy if they already are one.
pub fn integers<'py>(value: &Bound<'py, PyAny>, what: &str) -> PyResult<Bound<'py, PyArrayDyn<i64>>> {
    contiguous::<i64>(value, "iu", &format!("{what}: whole numbers are expected"))
}

/// An array of a type, converted without loss from these `kinds` of numpy types.
fn contiguous<'py, T: Element>(
    value: &Bound<'py, PyAny>,
    kinds: &str,
    complaint: &str,
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    if let Ok(array) = value.cast::<PyArrayDyn<T>>()
        && array.is_c_contiguous()
        && (array.data() as usize).is_multiple_of(align_of::<T>())
    {
        return Ok(array.clone());
    }
    let numpy = value.py().import("numpy")?;
    let array = numpy.call_method1("asarray", (value,))?;
    let kind: String = array.getattr("dtype")?.getattr("kind")?.extract()?;
    // The type of an empty list is arbitrary.
    if !kinds.contains(&kind) && array.getattr("size")?.extract::<usize>()? > 0 {
        let dtype = array.getattr("dtype")?;
        return Err(PyTypeError::new_err(format!("{complaint}, not {dtype}")));
    }
    let array = numpy.call_method1("require", (array, T::get_dtype(value.py()), ["C", "A"]))?;
    Ok(array.cast_into::<PyArrayDyn<T>>()?)
}

/// The values of an array as vectors; its last axis must have three entries.
pub fn as_vectors<'a>(array: &'a PyReadonlyArrayDyn<'_, f64>, what: &str) -> PyResult<&'a [Vec3]> {
    expect_shape(array.shape(), &[3], what)?;
    let flat = array.as_slice().map_err(|_| PyValueError::new_err(format!("{what} must be contiguous")))?;
    // SAFETY: `Vec3` is `repr(C)` over three numbers, so the slice holds a third as many.
    Ok(unsafe { std::slice::from_raw_parts(flat.as_ptr().cast(), flat.len() / 3) })
}

/// The values of an array as matrices; its last two axes must have three entries each.
pub fn as_matrices<'a>(array: &'a PyReadonlyArrayDyn<'_, f64>, what: &str) -> PyResult<&'a [Mat3]> {
    expect_shape(array.shape(), &[3, 3], what)?;
    let flat = array.as_slice().map_err(|_| PyValueError::new_err(format!("{what} must be contiguous")))?;
    // SAFETY: `Mat3` is `repr(C)` over nine numbers, so the slice holds a ninth as many.
    Ok(unsafe { std::slice::from_raw_parts(flat.as_ptr().cast(), flat.len() / 9) })
}

/// Checks the last axes of a shape; the error states the expected shape.
pub fn expect_shape(shape: &[usize], end: &[usize], what: &str) -> PyResult<()> {
    if shape.ends_with(end) {
        return Ok(());
    }
    let wanted: Vec<String> = end.iter().map(usize::to_string).collect();
    Err(PyValueError::new_err(format!("{what} must have the shape (…, {}), not {shape:?}", wanted.join(", "))))
}
