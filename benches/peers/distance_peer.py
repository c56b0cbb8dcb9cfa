"""Signed distances of a labeled ball by other programs: seconds, and errors within three voxels as one line of JSON.

Conventions of where the surface lies between voxels differ by half a voxel: each is shifted by its best constant.
"""

import argparse
import importlib.metadata
import json
import time

import numpy as np

parser = argparse.ArgumentParser()
parser.add_argument("--peer", required=True)
parser.add_argument("--voxels", type=int, default=256)
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--cap", type=float, help="asked of every script; this one is short")
parser.add_argument("--work", help="asked of every script; this one writes nothing")
asked = parser.parse_args()

count = asked.voxels
radius = 100 / 256 * count
axis = np.arange(count) - 0.5 * (count - 1) + 0.21
exact = np.sqrt(axis[:, None, None] ** 2 + axis[None, :, None] ** 2 + axis[None, None, :] ** 2) - radius
inside = np.ascontiguousarray(exact < 0)


def by_scipy():
    from scipy.ndimage import distance_transform_edt

    return distance_transform_edt(~inside) - distance_transform_edt(inside)


def by_edt():
    import edt

    return edt.sdf(inside, parallel=asked.threads) * -1.0


def by_fmm():
    import skfmm

    return skfmm.distance(np.where(inside, -0.5, 0.5), narrow=4.0)


def by_itk():
    import SimpleITK as sitk

    sitk.ProcessObject.SetGlobalDefaultNumberOfThreads(asked.threads)
    image = sitk.GetImageFromArray(inside.astype(np.uint8))
    return sitk.GetArrayFromImage(sitk.SignedMaurerDistanceMap(image, squaredDistance=False, useImageSpacing=False))


PROGRAMS = {
    "scipy": ("scipy", by_scipy),
    "edt": ("edt", by_edt),
    "scikit-fmm": ("scikit-fmm", by_fmm),
    "simpleitk": ("SimpleITK", by_itk),
}

package, program = PROGRAMS[asked.peer]
# The first call imports.
begin, processor = time.perf_counter(), time.process_time()
found = program()
first = time.perf_counter() - begin
begin, processor = time.perf_counter(), time.process_time()
found = program()
seconds = time.perf_counter() - begin
cores = (time.process_time() - processor) / max(seconds, 1e-9)
near = np.abs(exact) < 3
error = np.ma.filled(found, np.nan)[near] - exact[near]
error -= np.nanmean(error)
report = {"version": importlib.metadata.version(package), "seconds": min(first, seconds), "cores": cores}
report |= {"rms_error_voxels": float(np.sqrt(np.nanmean(error**2))), "max_error_voxels": float(np.nanmax(np.abs(error)))}
print(json.dumps(report))
