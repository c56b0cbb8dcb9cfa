//! Tetrahedra inside of a solid.
