"""Files of meshio, pyvista, gmsh and trimesh in their variants: we read them and write them back, and they read the same numbers."""

import contextlib
import io

import gmsh
import meshio
import numpy
import pyvista
import trimesh
import vtk

from judge import check, folder, sinew, verdict

FOLDER = folder("formats")


def quiet(function, *arguments, **options):
    with contextlib.redirect_stdout(io.StringIO()):
        return function(*arguments, **options)


# ---- meshes to write -------------------------------------------------------------------------------------------------------------

def lattice(n):
    """Points of n × n × n cubes with crooked coordinates, and the eight nodes of each cube."""
    line = numpy.arange(n + 1) * 0.1
    points = numpy.stack(numpy.meshgrid(line, line, line, indexing="ij"), -1).reshape(-1, 3)
    points = points + 0.003 * numpy.sin(17.0 * points[:, [1, 2, 0]])
    index = numpy.arange((n + 1) ** 3).reshape(n + 1, n + 1, n + 1)
    corners = [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (1, 1, 1), (0, 1, 1)]
    cubes = numpy.stack([index[a:n + a, b:n + b, c:n + c].ravel() for a, b, c in corners], -1)
    return points, cubes


POINTS, CUBES = lattice(3)
KUHN = numpy.array([[0, 1, 2, 6], [0, 2, 3, 6], [0, 3, 7, 6], [0, 7, 4, 6], [0, 4, 5, 6], [0, 5, 1, 6]])
TETS = CUBES[:, KUHN].reshape(-1, 4)


def volume(kind):
    cells = {"tetra": [("tetra", TETS)], "mixed": [("tetra", TETS[:60]), ("hexahedron", CUBES[10:])]}[kind]
    count = sum(len(block) for _, block in cells)
    labels = numpy.arange(count) % 3 + 1
    split = numpy.split(labels, numpy.cumsum([len(block) for _, block in cells])[:-1])
    return cells, split


def surface(kind):
    sphere = trimesh.creation.icosphere(2, 0.05)
    if kind == "triangles":
        return sphere.vertices, [("triangle", sphere.faces)]
    # A box of quads, as a surface with several kinds.
    quads = numpy.array([[0, 2, 3, 1], [4, 5, 7, 6], [0, 1, 5, 4], [2, 6, 7, 3], [0, 4, 6, 2], [1, 3, 7, 5]])
    corners = numpy.array([[(i & 1), (i >> 1 & 1), i >> 2] for i in range(8)], float) * 0.1
    triangles = numpy.array([[0, 2, 3], [0, 3, 1]])
    return corners, [("triangle", triangles), ("quad", quads[1:])]


# ---- how a judge compares ---------------------------------------------------------------------------------------------------------

def same(first, second, tolerance, what):
    first, second = numpy.asarray(first, float), numpy.asarray(second, float)
    assert first.shape == second.shape, f"{what}: {first.shape} became {second.shape}"
    # NaN stands where a format has no value.
    error = numpy.nanmax(numpy.abs(first - second)) if first.size else 0.0
    scale = max(1e-300, float(numpy.nanmax(numpy.abs(first)))) if first.size else 1.0
    assert not error > tolerance * scale, f"{what}: off by {error}"


def cells_of(mesh):
    """Cells of each kind as one array, in order."""
    kinds = {}
    for block in mesh.cells:
        kinds.setdefault(block.type, []).append(numpy.asarray(block.data))
    return {kind: numpy.concatenate(blocks) for kind, blocks in kinds.items()}


def data_of(mesh, name):
    kinds = {}
    for block, values in zip(mesh.cells, mesh.cell_data[name]):
        kinds.setdefault(block.type, []).append(numpy.asarray(values))
    return {kind: numpy.concatenate(blocks) for kind, blocks in kinds.items()}


def same_meshio(theirs, ours, tolerance=0.0):
    same(theirs.points, ours.points, tolerance, "points")
    first, second = cells_of(theirs), cells_of(ours)
    assert first.keys() == second.keys(), f"kinds {list(first)} became {list(second)}"
    for kind in first:
        assert numpy.array_equal(first[kind], second[kind]), f"cells of kind {kind} differ"
    for name, values in theirs.point_data.items():
        # Numbers that Gmsh gives to the parts of its model: bookkeeping, which we number ourselves.
        if name == "gmsh:dim_tags":
            continue
        same(numpy.squeeze(values), numpy.squeeze(ours.point_data[name]), tolerance, f"point field {name}")
    for name in theirs.cell_data:
        if name == "gmsh:geometrical" and "gmsh:physical" not in theirs.cell_data:
            continue
        mine = data_of(ours, name)
        for kind, values in data_of(theirs, name).items():
            same(numpy.squeeze(values), numpy.squeeze(mine[kind]), tolerance, f"cell field {name}")


def round_trip(source, *options):
    back = source.with_name("back-" + source.name)
    sinew("mesh", "convert", source, back, "--force", *options)
    return back


# ---- meshio -----------------------------------------------------------------------------------------------------------------------

def meshio_case(name, extension, mesh, options, convert=(), tolerance=0.0):
    def test():
        source = FOLDER / f"meshio-{name}.{extension}"
        quiet(meshio.write, source, mesh, **options)
        back = round_trip(source, *convert)
        same_meshio(quiet(meshio.read, source), quiet(meshio.read, back), tolerance)

    check(f"meshio {name}", test)


def meshio_volumes():
    for kind in ["tetra", "mixed"]:
        cells, labels = volume(kind)
        heat = numpy.linspace(-1.0, 1.0, len(POINTS)) ** 3
        arrow = POINTS * [1.0, -2.0, 0.5]

        def mesh(label=None, fields=True):
            point_data = {"heat": heat, "arrow": arrow} if fields else {}
            cell_data = {label: labels} if label else {}
            return meshio.Mesh(POINTS, cells, point_data=point_data, cell_data=cell_data)

        for binary in [False, True]:
            word = "binary" if binary else "ascii"
            form = [] if binary else ["--ascii"]
            for compression in [None, "zlib"] if binary else [None]:
                options = {"file_format": "vtu", "binary": binary, "compression": compression}
                packed = ["--compress"] if compression else []
                meshio_case(f"vtu-{kind}-{word}-{compression}", "vtu", mesh("tissue"), options, form + packed)
            for version in ["vtk42", "vtk51"]:
                options = {"file_format": version, "binary": binary}
                meshio_case(f"{version}-{kind}-{word}", "vtk", mesh("tissue"), options, form)
            # meshio cannot write 4.1 with more than one kind; gmsh itself does, below.
            for version, ours in [("gmsh22", "2.2"), ("gmsh", "4.1")][: 2 if kind == "tetra" else 1]:
                physical = {"gmsh:physical": labels, "gmsh:geometrical": labels}
                data = meshio.Mesh(POINTS, cells, cell_data=physical if version == "gmsh22" else None)
                options = {"file_format": version, "binary": binary}
                convert = [*form, "--version", ours]
                meshio_case(f"{version}-{kind}-{word}", "msh", data, options, convert)
        for extension in ["mesh", "meshb"]:
            meshio_case(f"medit-{kind}", extension, mesh("medit:ref", False), {"file_format": "medit"})
        meshio_case(f"abaqus-{kind}", "inp", mesh(None, False), {"file_format": "abaqus"})
    cells, labels = volume("tetra")
    meshio_case("tetgen", "ele", meshio.Mesh(POINTS, cells), {"file_format": "tetgen"})


def meshio_surfaces():
    for kind in ["triangles", "mixed"]:
        points, cells = surface(kind)
        mesh = meshio.Mesh(points, cells)
        for binary in [False, True]:
            form = [] if binary else ["--ascii"]
            options = {"file_format": "ply", "binary": binary}
            meshio_case(f"ply-{kind}-{binary}", "ply", mesh, options, form)
        meshio_case(f"obj-{kind}", "obj", mesh, {"file_format": "obj"})
    points, cells = surface("triangles")
    for binary in [False, True]:
        form = [] if binary else ["--ascii"]

        def test(binary=binary, form=form):
            source = FOLDER / f"meshio-{binary}.stl"
            quiet(meshio.write, source, meshio.Mesh(points.astype("f4"), cells), file_format="stl", binary=binary)
            back = round_trip(source, *form)
            # STL has no vertex numbers: the corners of the triangles are what can be compared.
            corners = [m.points[m.cells_dict["triangle"]] for m in (quiet(meshio.read, source), quiet(meshio.read, back))]
            same(*corners, 1e-7, "corners")

        check(f"meshio stl {binary}", test)


# ---- pyvista and VTK --------------------------------------------------------------------------------------------------------------

def same_pyvista(theirs, ours, tolerance=0.0):
    same(theirs.points, ours.points, tolerance, "points")
    assert numpy.array_equal(theirs.celltypes, ours.celltypes), "cell types differ"
    assert numpy.array_equal(theirs.cell_connectivity, ours.cell_connectivity), "cells differ"
    for mine, data in [(ours.point_data, theirs.point_data), (ours.cell_data, theirs.cell_data)]:
        for name in data:
            same(data[name], mine[name], tolerance, name)


def pyvista_grid():
    cells, _ = volume("mixed")
    wedges = TETS[-2:]
    grid = pyvista.UnstructuredGrid({10: numpy.concatenate([cells[0][1], wedges]), 12: cells[1][1]}, POINTS)
    grid.point_data["heat"] = POINTS[:, 0] ** 2
    grid.point_data["arrow"] = POINTS.astype("f4")
    grid.cell_data["tensor"] = numpy.arange(9.0 * grid.n_cells).reshape(-1, 9)
    grid.cell_data["label"] = numpy.arange(grid.n_cells) % 5
    return grid


def pyvista_files():
    grid = pyvista_grid()
    for mode in ["Ascii", "Binary", "Appended"]:
        for compressor in ["None", "ZLib", "LZ4"]:
            for order in ["LittleEndian", "BigEndian"]:
                def test(mode=mode, compressor=compressor, order=order):
                    source = FOLDER / f"vtk-{mode}-{compressor}-{order}.vtu"
                    writer = vtk.vtkXMLUnstructuredGridWriter()
                    writer.SetFileName(str(source))
                    writer.SetInputData(grid)
                    getattr(writer, f"SetDataModeTo{mode}")()
                    getattr(writer, f"SetCompressorTypeTo{compressor}")()
                    getattr(writer, f"SetByteOrderTo{order}")()
                    assert writer.Write() == 1
                    # A single-precision number in text is a decimal that doubles hold better.
                    tolerance = 1e-7 if mode == "Ascii" else 0.0
                    for options in [(), ("--ascii",), ("--compress",)]:
                        same_pyvista(pyvista.read(source), pyvista.read(round_trip(source, *options)), tolerance)

                check(f"vtk {mode} {compressor} {order}", test)
    for binary in [True, False]:
        def test(binary=binary):
            source = FOLDER / f"pyvista-{binary}.vtk"
            grid.save(source, binary=binary)
            for options in [(), ("--ascii",)]:
                same_pyvista(pyvista.read(source), pyvista.read(round_trip(source, *options)), 0.0 if binary else 1e-6)

        check(f"pyvista vtk {binary}", test)
    plate = pyvista.PolyData(*polygons())
    for extension, binary in [("ply", True), ("ply", False), ("obj", False)]:
        def test(extension=extension, binary=binary):
            source = FOLDER / f"pyvista-{binary}.{extension}"
            if extension == "obj":
                write_obj(source)
            else:
                plate.triangulate().save(source, binary=binary)
            theirs, ours = pyvista.read(source), pyvista.read(round_trip(source, *([] if binary else ["--ascii"])))
            same(theirs.points, ours.points, 1e-6, "points")
            assert theirs.n_cells == ours.n_cells and abs(theirs.area - ours.area) < 1e-6 * theirs.area

        check(f"pyvista {extension} {binary}", test)


def polygons():
    """A fan of triangle, quad, pentagon and hexagon in a plane."""
    points, faces = [], []
    for corners in [3, 4, 5, 6]:
        angles = numpy.arange(corners) * 2 * numpy.pi / corners
        first = len(points)
        points += [(numpy.cos(a) + 3 * corners, numpy.sin(a), 0.0) for a in angles]
        faces += [corners, *range(first, first + corners)]
    return numpy.array(points), numpy.array(faces)


def write_obj(path):
    points, faces = polygons()
    lines = [f"v {x:.9g} {y:.9g} {z:.9g}" for x, y, z in points]
    at = 0
    while at < len(faces):
        count = faces[at]
        lines += [f"g part-{count}", "f " + " ".join(str(v + 1) for v in faces[at + 1:at + 1 + count])]
        at += 1 + count
    path.write_text("\n".join(lines) + "\n")


# ---- gmsh -------------------------------------------------------------------------------------------------------------------------

def gmsh_model(order, recombine):
    gmsh.clear()
    gmsh.model.occ.addBox(0, 0, 0, 0.2, 0.1, 0.1)
    gmsh.model.occ.addBox(0.2, 0, 0, 0.1, 0.1, 0.1)
    gmsh.model.occ.fragment([(3, 1)], [(3, 2)])
    gmsh.model.occ.synchronize()
    volumes = gmsh.model.getEntities(3)
    gmsh.model.addPhysicalGroup(3, [volumes[0][1]], name="flesh")
    gmsh.model.addPhysicalGroup(3, [volumes[1][1]], name="tendon")
    wall = [tag for dim, tag in gmsh.model.getEntities(2) if abs(gmsh.model.occ.getCenterOfMass(dim, tag)[0]) < 1e-9]
    gmsh.model.addPhysicalGroup(2, wall, name="wall")
    if recombine:
        gmsh.model.mesh.setTransfiniteAutomatic(recombine=True)
    gmsh.option.setNumber("Mesh.MeshSizeMax", 0.05)
    gmsh.model.mesh.generate(3)
    gmsh.model.mesh.setOrder(order)


def gmsh_content(path):
    """What gmsh reads: places of nodes by tag, number of elements of each type and their mean node place, and names."""
    gmsh.clear()
    gmsh.open(str(path))
    tags, coordinates, _ = gmsh.model.mesh.getNodes()
    nodes = dict(zip(tags.tolist(), coordinates.reshape(-1, 3).tolist()))
    groups = {}
    for dim, tag in gmsh.model.getPhysicalGroups():
        name = gmsh.model.getPhysicalName(dim, tag)
        cells = []
        for entity in gmsh.model.getEntitiesForPhysicalGroup(dim, tag):
            types, _, members = gmsh.model.mesh.getElements(dim, entity)
            for kind, flat in zip(types, members):
                count = gmsh.model.mesh.getElementProperties(kind)[3]
                for cell in numpy.asarray(flat).reshape(-1, count):
                    cells.append((kind, *(round(c, 12) for node in cell for c in nodes[int(node)])))
        groups[(dim, name)] = sorted(cells)
    return len(nodes), groups


def gmsh_files():
    gmsh.initialize()
    gmsh.option.setNumber("General.Terminal", 0)
    for order, recombine in [(1, False), (1, True), (2, False)]:
        for version in [2.2, 4.1]:
            for binary in [0, 1]:
                def test(order=order, recombine=recombine, version=version, binary=binary):
                    gmsh_model(order, recombine)
                    gmsh.option.setNumber("Mesh.MshFileVersion", version)
                    gmsh.option.setNumber("Mesh.Binary", binary)
                    source = FOLDER / f"gmsh-{order}-{recombine}-{version}-{binary}.msh"
                    gmsh.write(str(source))
                    form = [] if binary else ["--ascii"]
                    back = round_trip(source, "--version", str(version), *form)
                    theirs, ours = gmsh_content(source), gmsh_content(back)
                    assert theirs[0] == ours[0], f"{theirs[0]} nodes became {ours[0]}"
                    assert theirs[1] == ours[1], "groups differ"

                check(f"gmsh order {order} recombined {recombine} {version} binary {binary}", test)
    gmsh.finalize()


# ---- trimesh ----------------------------------------------------------------------------------------------------------------------

def trimesh_files():
    ball = trimesh.creation.icosphere(3, 0.05)
    scene = trimesh.Scene()
    for number in range(3):
        scene.add_geometry(ball.copy(), node_name=f"ball-{number}", geom_name=f"ball-{number}",
                           transform=trimesh.transformations.translation_matrix([0.2 * number, 0, 0]))
    for extension in ["glb", "gltf", "obj", "ply", "stl"]:
        def test(extension=extension):
            if extension == "gltf":
                for name, content in trimesh.exchange.gltf.export_gltf(scene).items():
                    (FOLDER / name).write_bytes(content)
                source = FOLDER / "model.gltf"
            else:
                source = FOLDER / f"trimesh.{extension}"
                scene.to_geometry().export(source) if extension in ("ply", "stl") else scene.export(source)
            back = round_trip(source)
            theirs, ours = (trimesh.load(path, force="mesh") for path in (source, back))
            assert len(theirs.faces) == len(ours.faces), f"{len(theirs.faces)} faces became {len(ours.faces)}"
            assert abs(theirs.volume - ours.volume) < 1e-6 * theirs.volume, f"{theirs.volume} became {ours.volume}"
            same(theirs.bounds, ours.bounds, 1e-6, "bounds")

        check(f"trimesh {extension}", test)


meshio_volumes()
meshio_surfaces()
pyvista_files()
gmsh_files()
trimesh_files()
verdict()
