"""Constitutive laws on arrays: closed forms, differences, limits, invariance, shapes, and shared memory."""

from __future__ import annotations

import numpy as np
import pytest
from support import address, need

import sinew
from sinew import materials

MU, LAMBDA = 3846.1538461538457, 5769.23076923077
FIBER = np.array([2.0, 1.0, -2.0]) / 3.0

LAWS = {
    "linear": {"young": 10e3, "poisson": 0.3},
    "corotated": {"young": 10e3, "poisson": 0.3},
    "stvk": {"young": 10e3, "poisson": 0.3},
    "neo_hookean": {"young": 10e3, "poisson": 0.3},
    "stable_neo_hookean": {"young": 10e3, "poisson": 0.3},
    "mooney_rivlin": {"c10": 1e3, "c01": 500.0, "bulk": 1e5},
    "fiber_reinforced": {"young": 10e3, "poisson": 0.3, "fiber_stiffness": 20e3, "fiber_stiffening": 5.0},
    "transversely_isotropic": {"along_shear": 500.0, "cross_shear": 700.0, "bulk": 1e5},
    "muscle": {},
    "tendon": {},
    "muscle fibers": {"c10": 20e3, "c01": 10e3, "bulk": 2e6, "muscle": {"stress": 300e3}},
    "full stretch": {"c10": 20e3, "bulk": 2e6, "muscle": {"stress": 300e3, "stretch": "full", "curves": "chen"}},
}
ISOTROPIC = ["linear", "corotated", "stvk", "neo_hookean", "stable_neo_hookean", "mooney_rivlin", "muscle", "tendon"]


def material(name):
    law = name if name in materials.LAWS else "mooney_rivlin"
    return sinew.Material(law, **LAWS[name])


def words(name):
    """Additional parameters of the law."""
    if name in ISOTROPIC:
        return {}
    return {"fibers": FIBER, **({"activation": 0.6} if "muscle" in LAWS[name] else {})}


def gradients(count=20, size=0.25, seed=1):
    """Deformation gradients with positive volume."""
    F = np.eye(3) + size * np.random.default_rng(seed).standard_normal((3 * count, 3, 3))
    return F[np.linalg.det(F) > 0.3][:count]


def rotation(seed):
    Q, _ = np.linalg.qr(np.random.default_rng(seed).standard_normal((3, 3)))
    return Q * np.linalg.det(Q)


def dot(A, B):
    return np.einsum("...ij,...ij->...", A, B)


def green(F):
    return (np.swapaxes(F, -1, -2) @ F - np.eye(3)) / 2


def energies():
    """Textbook energies."""
    I1 = lambda F: dot(F, F)  # noqa: E731
    J = np.linalg.det
    small = lambda F: (F + np.swapaxes(F, -1, -2)) / 2 - np.eye(3)  # noqa: E731
    hooke = lambda E, mu, lam: mu * dot(E, E) + lam / 2 * np.trace(E, axis1=-2, axis2=-1) ** 2  # noqa: E731
    stretches = lambda F: np.linalg.svd(F, compute_uv=False)  # noqa: E731

    def mooney(F, c10=1e3, c01=500.0, bulk=1e5):
        C = np.swapaxes(F, -1, -2) @ F
        I2 = (np.trace(C, axis1=-2, axis2=-1) ** 2 - dot(C, C)) / 2
        return c10 * (J(F) ** (-2 / 3) * I1(F) - 3) + c01 * (J(F) ** (-4 / 3) * I2 - 3) + bulk / 2 * np.log(J(F)) ** 2

    def stable(F):
        return MU / 2 * (I1(F) - 3) - MU * (J(F) - 1) + (LAMBDA + MU) / 2 * (J(F) - 1) ** 2

    def reinforced(F, k=20e3, c=5.0):
        length = np.linalg.norm(F @ FIBER, axis=-1)
        y, most = np.maximum(length - 1, 0), 0.4
        inner = np.minimum(y, most)
        w = k / c * (np.expm1(c * inner) / c - inner)
        tension, slope = k / c * np.expm1(c * most), k * np.exp(c * most)
        beyond = np.maximum(y - most, 0)
        return stable(F) + w + tension * beyond + slope / 2 * beyond**2

    def transverse(F, g1=500.0, g2=700.0, bulk=1e5):
        C = np.swapaxes(F, -1, -2) @ F
        i1, i3, i4, i5 = I1(F), J(F) ** 2, (C @ FIBER) @ FIBER, np.einsum("...i,...i->...", C @ FIBER, C @ FIBER)
        w = (i1 * i4 - i5) / (2 * np.sqrt(i3 * i4))
        stretch = np.log(i4 * i3 ** (-1 / 3)) / 2
        return (
            g1 * (i5 / i4**2 - 1)
            + g2 * np.arccosh(w) ** 2
            + 1.5 * (g1 + g2) * stretch**2
            + bulk / 2 * np.log(J(F)) ** 2
        )

    return {
        "linear": lambda F: hooke(small(F), MU, LAMBDA),
        "corotated": lambda F: MU * np.sum((stretches(F) - 1) ** 2, axis=-1) + LAMBDA / 2 * (J(F) - 1) ** 2,
        "stvk": lambda F: hooke(green(F), MU, LAMBDA),
        "neo_hookean": lambda F: MU / 2 * (I1(F) - 3) - MU * np.log(J(F)) + LAMBDA / 2 * np.log(J(F)) ** 2,
        "stable_neo_hookean": stable,
        "mooney_rivlin": mooney,
        "fiber_reinforced": reinforced,
        "transversely_isotropic": transverse,
    }


@pytest.mark.parametrize("name", energies())
def test_energies_are_those_of_the_books(name):
    F = gradients(50)
    expected = energies()[name](F)
    assert material(name).energy(F, **words(name)) == pytest.approx(expected, rel=1e-12, abs=1e-9)


def test_stress_of_neo_hookean_flesh_in_closed_form():
    F = gradients(50)
    inverse = np.swapaxes(np.linalg.inv(F), -1, -2)
    expected = MU * F + (LAMBDA * np.log(np.linalg.det(F)) - MU)[:, None, None] * inverse
    assert material("neo_hookean").stress(F) == pytest.approx(expected, rel=1e-12, abs=1e-9)


@pytest.mark.parametrize("name", LAWS)
def test_stress_is_the_derivative_of_energy(name):
    F, dF = gradients(), np.random.default_rng(2).standard_normal((20, 3, 3))
    law, more, h = material(name), words(name), 1e-6
    slope = (law.energy(F + h * dF, **more) - law.energy(F - h * dF, **more)) / (2 * h)
    P = law.stress(F, **more)
    scale = np.linalg.norm(P, axis=(1, 2)) * np.linalg.norm(dF, axis=(1, 2))
    assert np.abs(slope - dot(P, dF)).max() < 1e-7 * scale.max()


@pytest.mark.parametrize("name", LAWS)
def test_the_differential_is_the_derivative_of_stress_and_symmetric(name):
    random = np.random.default_rng(3)
    F, dF, other = gradients(), random.standard_normal((20, 3, 3)), random.standard_normal((20, 3, 3))
    law, more, h = material(name), words(name), 1e-6
    change = law.stress_differential(F, dF, **more)
    difference = (law.stress(F + h * dF, **more) - law.stress(F - h * dF, **more)) / (2 * h)
    assert np.abs(difference - change).max() < 1e-6 * np.abs(change).max()
    assert dot(change, other) == pytest.approx(
        dot(law.stress_differential(F, other, **more), dF), rel=1e-9, abs=1e-9 * np.abs(change).max()
    )


@pytest.mark.parametrize("name", LAWS)
def test_rest_has_no_energy_and_no_stress_without_activation(name):
    more = {"fibers": FIBER} if words(name) else {}
    law = material(name)
    assert abs(law.energy(np.eye(3), **more)) < 1e-9
    assert np.abs(law.stress(np.eye(3), **more)).max() < 1e-6


@pytest.mark.parametrize("name", ISOTROPIC)
def test_small_strains_give_hookes_law(name):
    H = 1e-7 * np.random.default_rng(4).standard_normal((10, 3, 3))
    strain = (H + np.swapaxes(H, -1, -2)) / 2
    mu, lam = material(name).lame
    hooke = 2 * mu * strain + lam * np.trace(strain, axis1=-2, axis2=-1)[:, None, None] * np.eye(3)
    assert material(name).stress(np.eye(3) + H) == pytest.approx(hooke, rel=1e-4, abs=1e-5 * np.abs(hooke).max())
    assert material(name).stress_differential(np.tile(np.eye(3), (10, 1, 1)), H) == pytest.approx(
        hooke, abs=1e-9 * np.abs(hooke).max()
    )


def test_lame_parameters_follow_from_young_and_poisson():
    assert material("neo_hookean").lame == pytest.approx((MU, LAMBDA), rel=1e-14)
    assert material("mooney_rivlin").lame == pytest.approx((3000.0, 1e5 - 2000.0))


@pytest.mark.parametrize("name", [name for name in LAWS if name != "linear"])
def test_a_rotation_turns_the_stress_and_nothing_else(name):
    F, Q, more = gradients(), rotation(5), words(name)
    law = material(name)
    assert law.energy(Q @ F, **more) == pytest.approx(law.energy(F, **more), rel=1e-9, abs=1e-6)
    P = law.stress(F, **more)
    assert law.stress(Q @ F, **more) == pytest.approx(Q @ P, abs=1e-8 * np.abs(P).max())


@pytest.mark.parametrize("name", ["corotated", "stvk", "neo_hookean", "stable_neo_hookean", "mooney_rivlin"])
def test_isotropic_laws_have_no_direction(name):
    F, Q = gradients(), rotation(6)
    assert material(name).energy(F @ Q) == pytest.approx(material(name).energy(F), rel=1e-9)


@pytest.mark.parametrize("name", ["fiber_reinforced", "transversely_isotropic", "muscle fibers"])
def test_rotating_rest_state_and_fibers_together_changes_nothing(name):
    F, Q = gradients(), rotation(7)
    more, turned = words(name), {**words(name), "fibers": Q @ FIBER}
    law = material(name)
    assert law.energy(F @ Q.T, **turned) == pytest.approx(law.energy(F, **more), rel=1e-9)
    assert law.energy(F, **turned) != pytest.approx(law.energy(F, **more), rel=1e-3)


def test_activation_pulls_along_the_fibers():
    """At rest the tension is activation times the largest stress, along a ⊗ a less its mean: volume is kept."""
    law = material("muscle fibers")
    for activation in (0.0, 0.25, 1.0):
        expected = activation * 300e3 * (np.outer(FIBER, FIBER) - np.eye(3) / 3)
        assert law.stress(np.eye(3), fibers=FIBER, activation=activation) == pytest.approx(expected, abs=1e-6)
    full = material("full stretch").stress(np.eye(3), fibers=FIBER, activation=0.5)
    assert full == pytest.approx(150e3 * np.outer(FIBER, FIBER), rel=1e-6, abs=1e-3 * 150e3)


def test_fibers_and_activations_are_one_for_all_or_one_for_each():
    F = gradients(12)
    law = material("muscle fibers")
    fibers = np.random.default_rng(8).standard_normal((12, 3))
    fibers /= np.linalg.norm(fibers, axis=1)[:, None]
    activation = np.linspace(0, 1, 12)
    together = law.stress(F, fibers=fibers, activation=activation)
    for k in range(12):
        assert np.array_equal(law.stress(F[k], fibers=fibers[k], activation=activation[k]), together[k])
    same = law.stress(F, fibers=np.tile(FIBER, (12, 1)), activation=np.full(12, 0.6))
    assert np.array_equal(same, law.stress(F, fibers=FIBER, activation=0.6))
    grid = law.stress(F.reshape(3, 4, 3, 3), fibers=fibers.reshape(3, 4, 3), activation=activation.reshape(3, 4))
    assert np.array_equal(grid.reshape(12, 3, 3), together)


@pytest.mark.parametrize("shape", [(3, 3), (1, 3, 3), (7, 3, 3), (2, 5, 3, 3), (2, 3, 4, 3, 3), (0, 3, 3)])
@pytest.mark.parametrize("name", ["neo_hookean", "muscle fibers"])
def test_answers_have_the_shape_of_the_question(name, shape):
    F = np.broadcast_to(np.eye(3), shape) + 0.01
    law, more = material(name), words(name)
    assert law.energy(F, **more).shape == shape[:-2]
    assert law.stress(F, **more).shape == shape
    assert law.stress_differential(F, F, **more).shape == shape
    assert law.stress(F, **more).dtype == np.float64


@pytest.mark.parametrize("count", [1, 7, 8, 9, 4095, 4096, 4097, 10_001])
def test_the_number_of_points_does_not_matter(count):
    """Blocks and lanes begin and end somewhere."""
    F = np.resize(gradients(20), (count, 3, 3))
    P = material("neo_hookean").stress(F)
    assert np.array_equal(P, np.resize(material("neo_hookean").stress(gradients(20)), (count, 3, 3)))


def test_other_numbers_and_layouts_are_taken_as_they_are_meant():
    F = gradients(10)
    law = material("stable_neo_hookean")
    P = law.stress(F)
    assert law.stress(F.astype(np.float32)) == pytest.approx(P, rel=1e-4, abs=1)
    assert np.array_equal(law.stress(F.tolist()), P)
    assert np.array_equal(law.stress(np.asfortranarray(F)), P)
    assert np.array_equal(law.stress(F[::-2]), P[::-2])
    assert np.array_equal(law.stress(np.swapaxes(F, 1, 2)), law.stress(np.swapaxes(F, 1, 2).copy()))
    assert np.array_equal(law.stress(np.eye(3, dtype=int)), law.stress(np.eye(3)))
    assert np.array_equal(law.stress(F.astype(">f8")), P)


def test_numbers_at_odd_addresses_are_taken_as_well():
    """As in a structured array or a mapped file."""
    F = gradients(10)
    shifted = np.frombuffer(b"\0" + F.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(F.shape)
    assert not shifted.flags.aligned
    assert np.array_equal(material("neo_hookean").stress(shifted), material("neo_hookean").stress(F))


@pytest.mark.parametrize("method", ["energy", "stress", "stress_differential"])
def test_answers_are_written_where_they_are_wanted(method):
    F = gradients(10)
    arguments = [F, F] if method == "stress_differential" else [F]
    ask = getattr(material("neo_hookean"), method)
    expected = ask(*arguments)
    out = np.full_like(expected, np.nan)
    answer = ask(*arguments, out=out)
    assert answer is out or address(answer) == address(out)
    assert np.array_equal(out, expected)
    with pytest.raises(ValueError, match="contiguous"):
        ask(*arguments, out=np.zeros((11, *expected.shape[1:])))
    with pytest.raises(ValueError, match="contiguous"):
        ask(*arguments, out=np.zeros((20, *expected.shape[1:]))[::2])
    with pytest.raises(TypeError):
        ask(*arguments, out=np.zeros(expected.shape, dtype=np.float32))
    fixed = np.zeros(expected.shape)
    fixed.flags.writeable = False
    with pytest.raises((ValueError, TypeError, RuntimeError)):
        ask(*arguments, out=fixed)
    assert not fixed.any()


def test_in_and_out_in_the_same_memory_is_right_or_refused():
    F = gradients(10)
    expected = material("neo_hookean").stress(F)
    try:
        material("neo_hookean").stress(F, out=F)
    except (ValueError, TypeError, RuntimeError):
        assert np.array_equal(F, gradients(10))
    else:
        assert np.array_equal(F, expected)


def test_collapsed_cells_have_no_energy_to_give():
    assert material("neo_hookean").energy(np.diag([1.0, 1.0, -0.1])) == np.inf
    assert np.isfinite(material("stable_neo_hookean").energy(np.diag([1.0, 1.0, -0.1])))
    extended = sinew.Material("neo_hookean", young=1e4, poisson=0.3, inversion={"threshold": 0.3})
    assert np.isfinite(extended.energy(np.diag([1.0, 1.0, -0.1])))


WRONG = {
    "unknown law": (lambda: sinew.Material("marble", young=1, poisson=0), sinew.SceneError),
    "missing parameter": (lambda: sinew.Material("neo_hookean", young=1), sinew.SceneError),
    "unknown parameter": (lambda: sinew.Material("neo_hookean", young=1, poisson=0, bulk=3), sinew.SceneError),
    "wrong unit": (lambda: sinew.Material("neo_hookean", young="1 kg", poisson=0), sinew.SceneError),
    "incompressible": (lambda: sinew.Material("neo_hookean", young=1, poisson=0.5), sinew.SceneError),
    "nan": (lambda: sinew.Material("neo_hookean", young=float("nan"), poisson=0), sinew.SceneError),
    "no muscle": (lambda: sinew.Material("neo_hookean", young=1, poisson=0, muscle={}), sinew.SinewError),
    "shape": (lambda: material("neo_hookean").stress(np.zeros((3, 2))), ValueError),
    "vector": (lambda: material("neo_hookean").stress(np.zeros(9)), ValueError),
    "number": (lambda: material("neo_hookean").stress(1.0), ValueError),
    "text": (lambda: material("neo_hookean").stress("F"), TypeError),
    "none": (lambda: material("neo_hookean").stress(None), (TypeError, ValueError)),
    "complex": (lambda: material("neo_hookean").stress(np.eye(3) * 1j), TypeError),
    "change": (lambda: material("neo_hookean").stress_differential(gradients(3), gradients(2)), ValueError),
    "no fibers": (lambda: material("fiber_reinforced").stress(np.eye(3)), ValueError),
    "long fibers": (lambda: material("fiber_reinforced").stress(np.eye(3), fibers=[2, 0, 0]), ValueError),
    "nan fibers": (lambda: material("fiber_reinforced").stress(np.eye(3), fibers=[np.nan, 0, 0]), ValueError),
    "flat fibers": (lambda: material("fiber_reinforced").stress(np.eye(3), fibers=[1, 0]), ValueError),
    "too few fibers": (lambda: material("fiber_reinforced").stress(gradients(3), fibers=np.eye(3)[:2]), ValueError),
    "too few activations": (
        lambda: material("muscle fibers").stress(gradients(3), fibers=FIBER, activation=[1, 1]),
        ValueError,
    ),
    "nothing to activate": (lambda: material("neo_hookean").stress(np.eye(3), activation=1), ValueError),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_cannot_be_answered_is_refused(name):
    ask, kind = WRONG[name]
    with pytest.raises(kind) as caught:
        ask()
    assert str(caught.value)


@pytest.mark.parametrize("activation", [np.nan, -1.0, 2.0])
def test_activations_outside_of_zero_to_one_are_refused(activation):
    """As in a scene."""
    with pytest.raises(ValueError):
        material("muscle fibers").stress(np.eye(3), fibers=FIBER, activation=activation)


def test_laws_are_functions_too():
    for name in materials.LAWS:
        made = getattr(materials, name)(**LAWS[name])
        assert isinstance(made, sinew.Material)
        assert getattr(materials, name).__doc__ and name in repr(made)
    assert materials.neo_hookean(young="10 kPa", poisson=0.3).law == "neo_hookean"
    assert (
        repr(materials.neo_hookean(young=1.0, poisson=0.3)) == "<Material neo_hookean {'young': 1.0, 'poisson': 0.3}>"
    )


# torch, without copies.


def test_torch_sees_the_memory_of_a_simulation(simulation):
    torch = need("torch")
    simulation.step()
    positions = simulation.positions
    # torch does not know memory that must not be written; it warns once.
    with pytest.warns(UserWarning, match="not writable"):
        tensor = torch.from_numpy(positions)
    assert tensor.data_ptr() == address(positions)
    before = tensor.clone()
    simulation.step()
    assert not torch.equal(tensor, before)
    assert np.array_equal(tensor.numpy(), simulation.positions)


def test_tensors_go_in_and_come_out_without_copies():
    torch = need("torch")
    F = torch.from_numpy(gradients(10))
    law = material("neo_hookean")
    out = torch.empty_like(F)
    answer = law.stress(F.numpy(), out=out.numpy())
    assert address(answer) == out.data_ptr()
    assert np.array_equal(out.numpy(), law.stress(gradients(10)))
    # A tensor stands for its numbers, also where they are neither contiguous nor double.
    assert np.array_equal(law.stress(F), out.numpy())
    assert np.array_equal(law.stress(F.transpose(1, 2)), law.stress(F.transpose(1, 2).contiguous()))
    assert law.stress(F.float()) == pytest.approx(out.numpy(), rel=1e-3, abs=1)
    with pytest.raises((RuntimeError, TypeError)):
        law.stress(F.clone().requires_grad_())
    result = torch.from_numpy(law.stress(F))
    assert result.shape == F.shape and result.dtype == torch.float64


@pytest.mark.parametrize("name", ["neo_hookean", "corotated", "muscle fibers"])
def test_autograd_agrees_with_stress_and_its_differential(name):
    torch = need("torch")
    law, more = material(name), words(name)
    unit = 1e-3  # in kPa, so that tolerances are of the size of the numbers

    class Stress(torch.autograd.Function):
        @staticmethod
        def forward(context, F):
            context.save_for_backward(F)
            return torch.from_numpy(unit * law.stress(F.detach().numpy(), **more))

        @staticmethod
        def backward(context, change):
            (F,) = context.saved_tensors
            # The tangent is symmetric.
            return torch.from_numpy(unit * law.stress_differential(F.numpy(), change.contiguous().numpy(), **more))

    class Energy(torch.autograd.Function):
        @staticmethod
        def forward(context, F):
            context.save_for_backward(F)
            return torch.from_numpy(unit * law.energy(F.detach().numpy(), **more))

        @staticmethod
        def backward(context, change):
            (F,) = context.saved_tensors
            return change[..., None, None] * Stress.apply(F)

    F = torch.from_numpy(gradients(3, 0.1)).requires_grad_()
    assert torch.autograd.gradcheck(Energy.apply, (F,), rtol=1e-5, atol=1e-5)
    assert torch.autograd.gradcheck(Stress.apply, (F,), rtol=1e-5, atol=1e-4)
    assert torch.autograd.gradgradcheck(Energy.apply, (F,), rtol=1e-4, atol=1e-3)
