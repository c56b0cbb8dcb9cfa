//! What the scene moves: pins, driven rigid bodies, colliders, and the flesh that follows them.

use sinew_math::Vec3;

use super::super::FollowedBy;
use super::{Assembler, ModelError};
use crate::collider::{Collider, ContactMotion};
use crate::force::Assembly;
use crate::model::{Deformation, DrivenRigid, MotionSource, Pin, PinMotion, SkinningPredictor};

impl Assembler {
    pub(super) fn pins(&mut self) -> Result<Vec<Pin>, ModelError> {
        let mut pins = Vec::new();
        for params in std::mem::take(&mut self.parts.pins) {
            let body = &self.parts.bodies[params.body];
            if body.deformation != Deformation::Free && !params.nodes.is_empty() {
                let reason = "its nodes cannot be pinned one by one; attach them by springs".into();
                return Err(ModelError::Deformation { body: body.name.clone(), reason });
            }
            let prefix = format!("{}.pin.{}", body.name, params.name);
            let mut nodes = Vec::new();
            let mut points = Vec::new();
            let hanging = self.parts.hanging.get(&params.body);
            let hangs = |node: &u32| hanging.is_some_and(|hanging| hanging.contains_key(node));
            // Those are held by the ends of their edges.
            for (k, &node) in params.nodes.iter().enumerate().filter(|(_, node)| !hangs(node)) {
                let offset = params.offsets.get(k).copied().unwrap_or(Vec3::zero());
                let point = self.point(params.body, node);
                let Some(unknown) = self.kinematics.own_unknown(point as usize) else {
                    return Err(ModelError::PinOnBound { body: body.name.clone(), node });
                };
                self.kinematics.fix(unknown, params.axes);
                nodes.push((unknown, body.mesh.positions()[node as usize] + offset));
                points.push(point);
            }
            pins.push(Pin {
                name: params.name,
                body: params.body,
                nodes,
                points,
                axes: params.axes,
                pivot: params.pivot,
                motion: PinMotion {
                    translation: self.channels.add_vector(&format!("{prefix}.translation"), [0.0; 3]),
                    rotation: self.channels.add_vector(&format!("{prefix}.rotation"), [0.0; 3]),
                    deformation: self.channels.add_matrix(&format!("{prefix}.deformation")),
                },
            });
        }
        Ok(pins)
    }

    /// A driver that does not exist, such as a pin without nodes, moves nothing.
    pub(super) fn skinning_predictor(&mut self, pins: &[Pin], driven: &[DrivenRigid]) -> SkinningPredictor {
        let mut predictor = SkinningPredictor::default();
        for params in std::mem::take(&mut self.parts.follows) {
            let driver = |by: &FollowedBy| match by {
                FollowedBy::Pin(name) => {
                    pins.iter().position(|pin| pin.body == params.body && pin.name == *name).map(MotionSource::Pin)
                }
                FollowedBy::Rigid(rigid) => {
                    driven.iter().position(|driven| driven.rigid == *rigid).map(MotionSource::Driven)
                }
            };
            let first = predictor.drivers.len() as u32;
            let drivers: Vec<Option<MotionSource>> = params.drivers.iter().map(driver).collect();
            let places: Vec<Option<u32>> = drivers
                .iter()
                .scan(first, |next, driver| {
                    let place = driver.map(|_| *next);
                    *next += u32::from(driver.is_some());
                    Some(place)
                })
                .collect();
            predictor.drivers.extend(drivers.into_iter().flatten());
            for (node, weights) in params.weights.iter().enumerate() {
                let point = self.point(params.body, node as u32);
                let Some(unknown) = self.kinematics.own_unknown(point as usize) else { continue };
                let known = || weights.iter().filter_map(|&(driver, weight)| Some((places[driver as usize]?, weight)));
                let total: f64 = known().map(|(_, weight)| weight).sum();
                if total > 0.0 {
                    predictor.entries.extend(known().map(|(driver, weight)| (driver, weight / total)));
                    predictor.unknowns.push((unknown, predictor.entries.len() as u32));
                }
            }
        }
        predictor
    }

    pub(super) fn driven(&mut self) -> Vec<DrivenRigid> {
        let (rigid, channels) = (&self.parts.rigid, &mut self.channels);
        let driven = rigid.iter().enumerate().filter_map(|(index, params)| {
            params.driven_about.map(|pivot| DrivenRigid {
                rigid: index,
                initial: params.pose,
                pivot,
                translation: channels.add_vector(&format!("{}.translation", params.name), [0.0; 3]),
                rotation: channels.add_vector(&format!("{}.rotation", params.name), [0.0; 3]),
            })
        });
        driven.collect()
    }

    pub(super) fn colliders(&mut self) -> Vec<Collider> {
        let params = &self.parts.colliders;
        let channels = &mut self.channels;
        params
            .iter()
            .map(|params| Collider {
                name: params.name.clone(),
                shape: params.shape.clone(),
                initial: params.pose,
                pivot: params.pivot,
                motion: ContactMotion {
                    translation: channels.add_vector(&format!("{}.translation", params.name), [0.0; 3]),
                    rotation: channels.add_vector(&format!("{}.rotation", params.name), [0.0; 3]),
                },
            })
            .collect()
    }
}
