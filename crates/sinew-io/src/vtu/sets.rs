//! Named sets in VTK's formats, which have none: an array of that name with a 0 or 1 per point or cell.

use std::collections::BTreeMap;

use crate::mesh_data::Field;

/// Prefix of such arrays.
pub(crate) const PREFIX: &str = "set:";

/// Converts the fields that are sets.
pub(crate) fn sets_from_fields(fields: &mut Vec<Field>) -> BTreeMap<String, Vec<u32>> {
    let mut sets = BTreeMap::new();
    fields.retain(|field| {
        let is_mask = field.components == 1 && field.values.iter().all(|&v| v == 0.0 || v == 1.0);
        let Some(name) = field.name.strip_prefix(PREFIX).filter(|_| is_mask) else {
            return true;
        };
        let members = field.values.iter().enumerate().filter(|(_, v)| **v == 1.0).map(|(index, _)| index as u32);
        sets.insert(name.to_string(), members.collect());
        false
    });
    sets
}

/// A 1 for each member, a 0 for every other of `count`.
pub(crate) fn mask(members: &[u32], count: usize) -> Vec<u8> {
    let mut mask = vec![0; count];
    for &member in members {
        if let Some(value) = mask.get_mut(member as usize) {
            *value = 1;
        }
    }
    mask
}
