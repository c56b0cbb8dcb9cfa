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

from typing import TYPE_CHECKING, Any, Callable

from ._sinew import Material

LAWS = tuple(Material.laws())

__all__ = ["LAWS", "Material", *LAWS]


def _law(name: str) -> Callable[..., Material]:
    def make(**parameters: Any) -> Material:
        return Material(name, **parameters)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"The law ``{name}`` with parameters named as in a scene file."
    return make


if TYPE_CHECKING:

    def __getattr__(name: str) -> Callable[..., Material]: ...

else:
    globals().update((name, _law(name)) for name in LAWS)
