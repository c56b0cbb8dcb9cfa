//! An animation in simulation time: from rest to its start, then through it.

use sinew_geometry::shape::Pose;
use sinew_math::Quaternion;

use crate::animation::Animation;
use crate::flesh::Flesh;
use crate::motion::Motion;
use crate::rig::Rig;

/// A character that performs an animation.
#[derive(Clone, Copy, Debug)]
pub struct Performance<'a> {
    /// The character.
    pub rig: &'a Rig,
    /// Its flesh.
    pub flesh: &'a Flesh,
    /// The animation; `None` for rest.
    pub animation: Option<&'a Animation>,
    /// Time of the animation at which it starts \[s\].
    pub start: f64,
    /// Simulation time from rest until then \[s\].
    pub preroll: f64,
}

impl Performance<'_> {
    /// Motions of the joints from rest at a simulation time \[s\].
    pub fn motions(&self, time: f64) -> Vec<Motion> {
        if time >= self.preroll {
            // In this order the animation starts exactly at its first frame, not at the key before.
            return self.flesh.motions(&self.rig.pose(self.animation, self.start + (time - self.preroll)));
        }
        let goal = self.flesh.motions(&self.rig.pose(self.animation, self.start));
        let s = (time / self.preroll).max(0.0);
        self.on_the_way(&goal, s * s * (3.0 - 2.0 * s))
    }

    /// A fraction of the motion from rest: joints rotate relative to their parents, so that limbs stay intact.
    fn on_the_way(&self, goal: &[Motion], share: f64) -> Vec<Motion> {
        let poses: Vec<Pose> = goal.iter().map(|motion| motion.pose).collect();
        let mut found: Vec<Option<Pose>> = vec![None; goal.len()];
        let found = |joint: usize| goal[joint].with_pose(self.find(&poses, share, joint, &mut found), share);
        (0..goal.len()).map(found).collect()
    }

    fn find(&self, goal: &[Pose], share: f64, joint: usize, found: &mut [Option<Pose>]) -> Pose {
        if let Some(pose) = found[joint] {
            return pose;
        }
        let (place, parent) = (self.flesh.joints[joint].place, self.flesh.joints[joint].parent);
        let (above, goal_above) = match parent {
            Some(parent) => (self.find(goal, share, parent, found), goal[parent]),
            None => (Pose::identity(), Pose::identity()),
        };
        let turn = (goal_above.rotation.conjugate() * goal[joint].rotation).normalized();
        let rotation = (above.rotation * Quaternion::identity().slerp(turn, share)).normalized();
        // Its position relative to the parent joint changes only if bones stretch, and at the root.
        let moved = goal_above.to_local(goal[joint].to_world(place)) - place;
        let pose = Pose { translation: above.to_world(place + moved * share) - rotation.rotate(place), rotation };
        found[joint] = Some(pose);
        pose
    }
}
