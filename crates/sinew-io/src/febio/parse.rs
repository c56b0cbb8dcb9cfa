//! Parsed contents of a FEBio file, with the file's numbering.

use sinew_math::Vec3;

use super::elements::{HEX27_ORDER, shape_of};
use crate::error::{Place, ReadError};
use crate::mesh_data::{CellGroup, CellShape};
use crate::text::{not_a, parse_f64, parse_i64};
use crate::xml::{Element, Event, Reader};

/// A number of the file, and its byte offset.
pub(super) type Reference = (u32, usize);

/// Cells with the node numbers of the file.
#[derive(Default)]
pub(super) struct RawCells {
    pub(super) groups: Vec<CellGroup>,
    /// Byte offset of each cell.
    pub(super) offsets: Vec<usize>,
}

/// `<Elements>`.
pub(super) struct Part {
    pub(super) name: Option<String>,
    pub(super) material: Option<String>,
    pub(super) cells: std::ops::Range<usize>,
}

/// Everything of interest.
#[derive(Default)]
pub(super) struct Contents {
    pub(super) points: Vec<Vec3>,
    /// Number and offset of each node.
    pub(super) nodes: Vec<Reference>,
    pub(super) elements: RawCells,
    /// Number and offset of each element.
    pub(super) element_numbers: Vec<Reference>,
    pub(super) facets: RawCells,
    pub(super) parts: Vec<Part>,
    pub(super) surfaces: Vec<(String, std::ops::Range<usize>)>,
    /// Nodes of `<Nodes name="…">`, by index.
    pub(super) named_nodes: Vec<(String, std::ops::Range<usize>)>,
    pub(super) node_sets: Vec<(String, Vec<Reference>)>,
    pub(super) element_sets: Vec<(String, Vec<Reference>)>,
    /// Sets of parts.
    pub(super) part_lists: Vec<(String, Vec<String>)>,
    /// Part and material, by name.
    pub(super) domains: Vec<(String, String)>,
    /// Number and name of each material.
    pub(super) materials: Vec<(String, String)>,
    /// Names of the skipped sections.
    pub(super) left_out: Vec<String>,
    pub(super) has_mesh: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Mesh,
    Domains,
    Materials,
    Other,
}

#[derive(Clone, Copy, PartialEq)]
enum Item {
    Nodes,
    Elements(CellShape),
    Surface,
    NodeSet,
    ElementSet,
    PartList,
    Other,
}

/// A node, element or facet whose text follows.
struct Entry {
    offset: usize,
    number: u32,
    shape: CellShape,
}

/// Line of a byte.
pub(super) fn place(bytes: &[u8], offset: usize) -> Place {
    Place::Line(1 + bytes[..offset.min(bytes.len())].iter().filter(|&&b| b == b'\n').count())
}

/// Reads a whole file.
pub(super) fn parse(bytes: &[u8]) -> Result<Contents, ReadError> {
    let mut parser = Parser {
        bytes,
        contents: Contents::default(),
        section: Section::Other,
        item: Item::Other,
        entry: None,
        coordinates: Vec::new(),
        corners: Vec::new(),
    };
    let mut reader = Reader::new(bytes);
    let mut is_empty = true;
    loop {
        let event = reader.next_event().map_err(|error| ReadError::line(error.line, error.reason))?;
        match event {
            None => break,
            Some(Event::Start(element)) => {
                // An empty element is not on the path.
                let level = reader.path().len() + usize::from(element.is_empty);
                is_empty = false;
                parser.start(level, &element)?;
                if element.is_empty {
                    parser.end(level)?;
                }
            }
            Some(Event::End(_)) => parser.end(reader.path().len() + 1)?,
            Some(Event::Text { bytes, offset }) => parser.text(reader.path().len(), bytes, offset)?,
        }
    }
    if is_empty {
        return Err(ReadError::Magic { format: "FEBio", reason: "it has no elements".into() });
    }
    Ok(parser.contents)
}

struct Parser<'a> {
    bytes: &'a [u8],
    contents: Contents,
    section: Section,
    item: Item,
    entry: Option<Entry>,
    /// Coordinates of the current node.
    coordinates: Vec<f64>,
    /// Nodes of the current element or facet.
    corners: Vec<u32>,
}

impl Parser<'_> {
    fn line(&self, offset: usize) -> usize {
        match place(self.bytes, offset) {
            Place::Line(line) => line,
            Place::Byte(_) | Place::Slice(_) => 0,
        }
    }

    fn error(&self, offset: usize, reason: impl Into<String>) -> ReadError {
        ReadError::line(self.line(offset), reason)
    }

    fn unsupported(&self, offset: usize, what: String, hint: &'static str) -> ReadError {
        ReadError::Unsupported { place: place(self.bytes, offset), what, hint }
    }

    fn start(&mut self, level: usize, element: &Element<'_>) -> Result<(), ReadError> {
        match level {
            1 => self.root(element),
            2 => self.section(element),
            3 if self.section == Section::Mesh => self.item(element),
            3 => {
                let name = element.attribute("name").map(String::from);
                match (self.section, name, element.attribute("mat"), element.attribute("id")) {
                    (Section::Domains, Some(name), Some(material), _) => {
                        self.contents.domains.push((name, material.into()));
                    }
                    (Section::Materials, Some(name), _, Some(number)) => {
                        self.contents.materials.push((number.into(), name));
                    }
                    _ => {}
                }
                Ok(())
            }
            4 if self.section == Section::Mesh => self.entry(element),
            _ => Ok(()),
        }
    }

    fn root(&mut self, element: &Element<'_>) -> Result<(), ReadError> {
        if element.name != "febio_spec" {
            return Err(ReadError::Magic { format: "FEBio", reason: format!("it begins with <{}>", element.name) });
        }
        let version = element.attribute("version").unwrap_or("none");
        if ["2.", "3.", "4."].iter().any(|known| version.starts_with(known)) {
            return Ok(());
        }
        let what = format!("version {version} of FEBio's format");
        Err(self.unsupported(element.offset, what, "save the model with FEBio Studio, as version 2.5, 3.0 or 4.0"))
    }

    fn section(&mut self, element: &Element<'_>) -> Result<(), ReadError> {
        self.section = match element.name {
            "Mesh" | "Geometry" => Section::Mesh,
            "MeshDomains" => Section::Domains,
            "Material" => Section::Materials,
            _ => Section::Other,
        };
        if self.section == Section::Mesh {
            self.contents.has_mesh = true;
            if element.attribute("from").is_some() {
                let what = "a mesh in another file".into();
                return Err(self.unsupported(element.offset, what, "paste its <Mesh> into this file"));
            }
        } else if self.section != Section::Domains && !self.contents.left_out.iter().any(|name| name == element.name) {
            self.contents.left_out.push(element.name.into());
        }
        Ok(())
    }

    fn item(&mut self, element: &Element<'_>) -> Result<(), ReadError> {
        let name = element.attribute("name").or_else(|| element.attribute("elset"));
        let name = name.filter(|name| !name.is_empty()).map(String::from);
        let named =
            || name.clone().ok_or_else(|| self.error(element.offset, format!("<{}> without name", element.name)));
        self.item = match element.name {
            "Nodes" => {
                let next = self.contents.points.len();
                // Unnamed ones are discarded, but must be closed too.
                self.contents.named_nodes.push((name.unwrap_or_default(), next..next));
                Item::Nodes
            }
            "Elements" => {
                let kind = element.attribute("type").unwrap_or_default();
                let Some(shape) = shape_of(kind) else {
                    let what = format!("the element type \"{kind}\"");
                    return Err(self.unsupported(element.offset, what, "convert the part in FEBio Studio"));
                };
                let next = self.contents.element_numbers.len();
                let material = element.attribute("mat").map(String::from);
                self.contents.parts.push(Part { name, material, cells: next..next });
                Item::Elements(shape)
            }
            "Surface" | "Edge" => {
                let next = self.contents.facets.offsets.len();
                let name = named()?;
                self.contents.surfaces.push((name, next..next));
                Item::Surface
            }
            "NodeSet" => {
                let name = named()?;
                self.contents.node_sets.push((name, Vec::new()));
                Item::NodeSet
            }
            "ElementSet" => {
                let name = named()?;
                self.contents.element_sets.push((name, Vec::new()));
                Item::ElementSet
            }
            "PartList" => {
                let name = named()?;
                self.contents.part_lists.push((name, Vec::new()));
                Item::PartList
            }
            "Part" | "Instance" => {
                let what = format!("<{}> in the geometry", element.name);
                return Err(self.unsupported(element.offset, what, "save the model with FEBio Studio, as version 4.0"));
            }
            _ => Item::Other,
        };
        Ok(())
    }

    fn entry(&mut self, element: &Element<'_>) -> Result<(), ReadError> {
        let offset = element.offset;
        let shape = match self.item {
            Item::Other | Item::PartList => return Ok(()),
            Item::Nodes => CellShape::Vertex,
            Item::Elements(shape) => shape,
            Item::NodeSet | Item::ElementSet => {
                // `<node id="1"/>` in a list of members; anything else there refers to another set.
                if let Some(id) = element.attribute("id") {
                    let number = self.number(id.as_bytes(), offset)?;
                    let contents = &mut self.contents;
                    let sets =
                        if self.item == Item::NodeSet { &mut contents.node_sets } else { &mut contents.element_sets };
                    if let Some((_, members)) = sets.last_mut() {
                        members.push((number, offset));
                    }
                    return Ok(());
                }
                let what = format!("<{}> in a set", element.name);
                return Err(self.unsupported(offset, what, "list the members of the set themselves"));
            }
            Item::Surface => match shape_of(element.name).filter(|shape| matches!(shape.dimension(), 1 | 2)) {
                Some(shape) => shape,
                None => {
                    let what = format!("the facet <{}>", element.name);
                    return Err(self.unsupported(offset, what, "convert the part in FEBio Studio"));
                }
            },
        };
        let number = match element.attribute("id") {
            Some(id) => self.number(id.as_bytes(), offset)?,
            // Nothing refers to facets.
            None if self.item == Item::Surface => 1,
            None => return Err(self.error(offset, format!("<{}> without id", element.name))),
        };
        self.entry = Some(Entry { offset, number, shape });
        self.coordinates.clear();
        self.corners.clear();
        Ok(())
    }

    /// A number of a node or element.
    fn number(&self, word: &[u8], offset: usize) -> Result<u32, ReadError> {
        let Some(index) = parse_i64(word) else { return Err(not_a(self.line(offset), word, "an integer", "number")) };
        let fits = u32::try_from(index).ok().filter(|&number| number > 0 && number < u32::MAX);
        fits.ok_or_else(|| self.error(offset, format!("number {index}: numbers go from 1 to 2³²")))
    }

    fn text(&mut self, level: usize, bytes: &[u8], offset: usize) -> Result<(), ReadError> {
        if self.section != Section::Mesh {
            return Ok(());
        }
        if level == 3 && self.item == Item::PartList {
            let parts = String::from_utf8_lossy(bytes);
            if let Some((_, list)) = self.contents.part_lists.last_mut() {
                let parts = parts.split(',').map(str::trim).filter(|part| !part.is_empty());
                list.extend(parts.map(String::from));
            }
            return Ok(());
        }
        let is_list = level == 3 && matches!(self.item, Item::NodeSet | Item::ElementSet);
        if !is_list && (level != 4 || self.entry.is_none()) {
            return Ok(());
        }
        for (word, at) in words(bytes) {
            if is_list {
                let reference = (self.number(word, offset + at)?, offset + at);
                let contents = &mut self.contents;
                let sets =
                    if self.item == Item::NodeSet { &mut contents.node_sets } else { &mut contents.element_sets };
                if let Some((_, members)) = sets.last_mut() {
                    members.push(reference);
                }
            } else if self.item == Item::Nodes {
                let Some(value) = parse_f64(word) else {
                    return Err(not_a(self.line(offset + at), word, "a number", "node"));
                };
                if !value.is_finite() {
                    return Err(ReadError::NotFinite { place: place(self.bytes, offset + at), what: "node".into() });
                }
                self.coordinates.push(value);
            } else {
                let number = self.number(word, offset + at)?;
                self.corners.push(number);
            }
        }
        Ok(())
    }

    fn end(&mut self, level: usize) -> Result<(), ReadError> {
        match level {
            2 => self.section = Section::Other,
            3 => {
                let contents = &mut self.contents;
                match self.item {
                    Item::Nodes => {
                        if let Some((_, range)) = contents.named_nodes.last_mut() {
                            range.end = contents.points.len();
                        }
                    }
                    Item::Elements(_) => {
                        if let Some(part) = contents.parts.last_mut() {
                            part.cells.end = contents.element_numbers.len();
                        }
                    }
                    Item::Surface => {
                        if let Some((_, range)) = contents.surfaces.last_mut() {
                            range.end = contents.facets.offsets.len();
                        }
                    }
                    _ => {}
                }
                self.item = Item::Other;
            }
            4 => return self.finish_entry(),
            _ => {}
        }
        Ok(())
    }

    fn finish_entry(&mut self) -> Result<(), ReadError> {
        let Some(Entry { offset, number, shape }) = self.entry.take() else { return Ok(()) };
        if self.item == Item::Nodes {
            let [x, y, z] = self.coordinates[..] else {
                return Err(self.error(offset, format!("a node with {} coordinates", self.coordinates.len())));
            };
            self.contents.points.push(Vec3::new(x, y, z));
            self.contents.nodes.push((number, offset));
            return Ok(());
        }
        let count = shape.nodes().unwrap_or(0);
        if self.corners.len() != count {
            let reason = format!("{} nodes where a {} has {count}", self.corners.len(), shape.name());
            return Err(self.error(offset, reason));
        }
        let cells = if self.item == Item::Surface {
            &mut self.contents.facets
        } else {
            self.contents.element_numbers.push((number, offset));
            &mut self.contents.elements
        };
        cells.offsets.push(offset);
        if cells.groups.last().is_none_or(|group| group.shape != shape) {
            cells.groups.push(CellGroup::new(shape));
        }
        let last = cells.groups.len() - 1;
        let nodes = &mut cells.groups[last].nodes;
        if shape == CellShape::Hex27 {
            nodes.extend(HEX27_ORDER.iter().map(|&from| self.corners[from]));
        } else {
            nodes.extend_from_slice(&self.corners);
        }
        Ok(())
    }
}

/// Words separated by commas and whitespace, with their offsets in `bytes`.
fn words(bytes: &[u8]) -> impl Iterator<Item = (&[u8], usize)> {
    let mut next = 0;
    bytes.split(|&b| b == b',' || b.is_ascii_whitespace()).filter_map(move |word| {
        let at = next;
        next += word.len() + 1;
        (!word.is_empty()).then_some((word, at))
    })
}
