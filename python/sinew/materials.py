"""Constitutive laws on arrays of deformation gradients: energies, stresses and their derivatives.

``Material("stable_neo_hookean", young="30 kPa", poisson=0.45)`` uses the keys of scene
files; each law is also a function here::

    flesh = materials.stable_neo_hookean(young=30e3, poisson=0.45)
    stress = flesh.stress(F)                         # F of shape (..., 3, 3)
    change = flesh.stress_differential(F, dF)
    muscle = materials.mooney_rivlin(c10=20e3, bulk=2e7, muscle={"stress": 300e3})
    pull = muscle.stress(F, fibers=[1, 0, 0], activation=0.5)
"""

from __future__ import annotations

from typing import Any, Callable

from ._sinew import Material

LAWS = (
    "linear",
    "corotated",
    "stvk",
    "neo_hookean",
    "stable_neo_hookean",
    "mooney_rivlin",
    "fiber_reinforced",
    "transversely_isotropic",
    "muscle",
    "tendon",
)

__all__ = ["LAWS", "Material", *LAWS]


def _law(name: str) -> Callable[..., Material]:
    def make(**parameters: Any) -> Material:
        return Material(name, **parameters)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The law ``{name}`` with parameters named as in a scene file."
    return make


linear = _law("linear")
corotated = _law("corotated")
stvk = _law("stvk")
neo_hookean = _law("neo_hookean")
stable_neo_hookean = _law("stable_neo_hookean")
mooney_rivlin = _law("mooney_rivlin")
fiber_reinforced = _law("fiber_reinforced")
transversely_isotropic = _law("transversely_isotropic")
muscle = _law("muscle")
tendon = _law("tendon")
