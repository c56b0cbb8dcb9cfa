// Rewrites a character with glTF-Transform in the ways its users do: characters.cjs INPUT FOLDER.

const path = require("node:path");
const { Logger, NodeIO } = require("@gltf-transform/core");
const { ALL_EXTENSIONS } = require("@gltf-transform/extensions");
const { MeshoptDecoder, MeshoptEncoder } = require("meshoptimizer");
const { meshopt, prune, quantize, resample, sparse, unweld } = require("@gltf-transform/functions");

const [input, folder] = process.argv.slice(2);
const logger = new Logger(Logger.Verbosity.ERROR);
const io = new NodeIO().setLogger(logger).registerExtensions(ALL_EXTENSIONS).registerDependencies({
  "meshopt.decoder": MeshoptDecoder,
  "meshopt.encoder": MeshoptEncoder,
});

/** The node of the character's skin. */
function skinned(document) {
  return document.getRoot().listNodes().find((node) => node.getMesh() && node.getSkin());
}

function accessor(document, type, array) {
  return document.createAccessor().setType(type).setArray(array).setBuffer(document.getRoot().listBuffers()[0]);
}

/** Positions in 14 bits and weights in 8, and no more keys than needed. */
async function quantized(document) {
  await document.transform(quantize(), resample());
}

/** Packed by meshopt: attributes, triangles and keys, with the filters for normals, rotations and translations. */
async function packed(document) {
  await document.transform(meshopt({ encoder: MeshoptEncoder, level: "high" }));
}

/** Three vertices of its own for each triangle. */
async function split(document) {
  await document.transform(unweld());
}

/** Only what is not zero is stored, also of a shape that could be added. */
async function sparsened(document) {
  const mesh = skinned(document).getMesh();
  for (const primitive of mesh.listPrimitives()) {
    const shift = new Float32Array(3 * primitive.getAttribute("POSITION").getCount());
    shift.fill(0.01, 0, 30);
    const target = document.createPrimitiveTarget("bulge").setAttribute("POSITION", accessor(document, "VEC3", shift));
    primitive.addTarget(target);
  }
  mesh.setWeights([0]).setExtras({ targetNames: ["bulge"] });
  await document.transform(sparse());
  // It leaves alone what would not become smaller, which is most of a skin.
  const attributes = mesh.listPrimitives().flatMap((primitive) => primitive.listAttributes());
  attributes.forEach((attribute) => attribute.setSparse(true));
}

/** Below a new root that lies on its side and counts in other units. */
function rerooted(document) {
  const half = Math.SQRT1_2;
  const root = document.createNode("root").setRotation([-half, 0, 0, half]).setScale([2, 2, 2]).setTranslation([0.3, -1, 0.2]);
  for (const scene of document.getRoot().listScenes()) {
    const children = scene.listChildren();
    scene.addChild(root);
    children.forEach((child) => root.addChild(child));
  }
}

/** Half of the triangles with a skin of their own, with other joints in another order and other units, and an eye with a third. */
async function manySkins(document) {
  const node = skinned(document);
  const [skin, mesh] = [node.getSkin(), node.getMesh()];
  const joints = skin.listJoints();
  const binds = joints.map((_, k) => Array.from(skin.getInverseBindMatrices().getElement(k, [])));
  const scene = document.getRoot().listScenes()[0];

  // Stored a hundred times as large: the inverse bind matrices undo it.
  const second = document.createSkin("second");
  const inCentimetres = (matrix) => matrix.map((value, k) => (k < 12 ? 0.01 * value : value));
  const reversed = joints.map((_, k) => joints.length - 1 - k);
  reversed.forEach((k) => second.addJoint(joints[k]));
  second.setInverseBindMatrices(accessor(document, "MAT4", new Float32Array(reversed.flatMap((k) => inCentimetres(binds[k])))));
  const half = document.createMesh("half");
  for (const primitive of mesh.listPrimitives()) {
    const indices = Array.from(primitive.getIndices().getArray());
    const middle = 3 * Math.floor(indices.length / 6);
    primitive.setIndices(accessor(document, "SCALAR", new Uint32Array(indices.slice(0, middle))));
    const other = primitive.clone().setIndices(accessor(document, "SCALAR", new Uint32Array(indices.slice(middle))));
    const positions = primitive.getAttribute("POSITION").getArray().map((x) => 100 * x);
    const numbers = primitive.getAttribute("JOINTS_0").getArray().map((k) => joints.length - 1 - k);
    other.setAttribute("POSITION", accessor(document, "VEC3", positions));
    other.setAttribute("JOINTS_0", accessor(document, "VEC4", numbers));
    half.addPrimitive(other);
  }
  scene.addChild(document.createNode("half").setMesh(half).setSkin(second));

  // A small closed surface on the last joint, where it is stored in the place of the joint.
  const third = document.createSkin("third").addJoint(joints[joints.length - 1]);
  third.setInverseBindMatrices(accessor(document, "MAT4", new Float32Array([1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1])));
  const corners = [1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1, 0, 0, 0, 1, 0, 0, -1].map((x) => 0.01 * x);
  const faces = [0, 2, 4, 2, 1, 4, 1, 3, 4, 3, 0, 4, 2, 0, 5, 1, 2, 5, 3, 1, 5, 0, 3, 5];
  const eye = document.createPrimitive()
    .setAttribute("POSITION", accessor(document, "VEC3", new Float32Array(corners)))
    .setAttribute("JOINTS_0", accessor(document, "VEC4", new Uint16Array(24)))
    .setAttribute("WEIGHTS_0", accessor(document, "VEC4", new Float32Array(24).map((_, k) => (k % 4 === 0 ? 1 : 0))))
    .setIndices(accessor(document, "SCALAR", new Uint16Array(faces)));
  scene.addChild(document.createNode("eye").setMesh(document.createMesh("eye").addPrimitive(eye)).setSkin(third));
  await document.transform(prune());
}

async function main() {
  await Promise.all([MeshoptDecoder.ready, MeshoptEncoder.ready]);
  for (const [name, change] of Object.entries({ quantized, packed, split, sparse: sparsened, rerooted, skins: manySkins })) {
    const document = (await io.read(input)).setLogger(logger);
    await change(document);
    await io.write(path.join(folder, `${name}.glb`), document);
  }
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
