//! All integration tests of the crate, in one program: that is built in a fraction of the time of one program for each file.

mod corpus_gltf;
mod corpus_gmsh;
mod corpus_images;
mod corpus_inp;
mod corpus_surfaces;
mod corpus_vtk;
mod images;
mod outlines;
