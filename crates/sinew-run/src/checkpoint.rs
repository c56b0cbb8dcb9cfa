//! Checkpoints: the whole state of a run, bit for bit, and the length of its recording, so that the run can be resumed.

use std::path::Path;
use std::time::Duration;

use sinew_fem::kinematics::Unknowns;
use sinew_fem::report::StepTiming;
use sinew_fem::state::ContactMemory;
use sinew_fem::state::{History, Work};
use sinew_fem::{RecordError, State};
use sinew_geometry::shape::Pose;
use sinew_record::record::write_file;
use sinew_store::StoreError;
use sinew_store::bytes::{ByteReader, ByteWriter};

use crate::expect::Checked;
use crate::history::ProbeHistory;
use crate::study::StudyCase;

/// First bytes of the file in every version.
pub(crate) const FAMILY: &[u8] = b"SINEW-CHECKPOINT-";

/// First bytes of the file; the number is the version of its layout.
const MAGIC: &[u8] = b"SINEW-CHECKPOINT-9\n";

/// Everything that is needed to continue.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Checkpoint {
    /// Hash of the scene and its overrides: equal hashes mean equal scenes.
    pub fingerprint: u64,
    /// Index of the current case of a study.
    pub case: usize,
    /// Index of the frame that `state` belongs to.
    pub frame: usize,
    /// Length of the recording up to that frame in bytes; 0 at the beginning of a case.
    pub recording: u64,
    /// The state.
    pub state: State,
    /// Control channels held by commands.
    pub held: Vec<(String, f64)>,
    /// Cases of a study that are complete.
    pub finished: Vec<FinishedCase>,
    /// Scenes that were run for comparison, with their probes.
    pub others: Vec<(String, ProbeHistory)>,
    /// Timing of each frame of the case except the first; recordings do not contain it.
    pub timings: Vec<StepTiming>,
    /// Number of frames computed twice so far, over all resumptions.
    pub recomputed: usize,
    /// How many times the run was resumed.
    pub resumed: usize,
}

/// Result of a completed case of a study.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct FinishedCase {
    /// Its result.
    pub case: StudyCase,
    /// Its expectations.
    pub checks: Vec<Checked>,
}

impl Checkpoint {
    /// Writes the file; an older checkpoint stays until this one is complete.
    pub fn write(&self, path: &Path) -> Result<(), RecordError> {
        write_file(path, &self.encode())
    }

    /// Reads the file.
    pub fn read(path: &Path) -> Result<Checkpoint, StoreError> {
        Self::decode(&std::fs::read(path)?)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut out = ByteWriter(MAGIC.to_vec());
        for number in [self.fingerprint, self.case as u64, self.frame as u64, self.recording] {
            out.u64(number);
        }
        out.u64(self.recomputed as u64);
        out.u64(self.resumed as u64);
        let State { time, unknowns, positions, velocities, reactions, history } = &self.state;
        out.f64(*time);
        out.vectors(&unknowns.vectors);
        out.list(unknowns.rotations.iter(), |out, q| out.quaternion(*q));
        out.vectors(positions);
        out.vectors(velocities);
        out.vectors(reactions);
        let History {
            rates,
            previous_rates,
            depth,
            last_dt,
            collider_poses,
            rounding,
            spectra,
            previous_positions,
            previous_velocities,
            accelerations,
            next_dt,
            work: Work { pins, damping, start, muscles },
            contact_exits,
            contact_depths,
            contact_tangles,
            contact_memory,
            meeting_speeds,
            activations,
            fiber_start,
            surfaces,
        } = history;
        out.vectors(rates);
        out.vectors(previous_rates);
        out.u64(*depth as u64);
        out.f64(*last_dt);
        out.f64(*rounding);
        out.f64s(spectra);
        out.list(collider_poses.iter(), |out, pose| {
            out.vector(pose.translation);
            out.quaternion(pose.rotation);
        });
        for list in [previous_positions, previous_velocities, accelerations] {
            out.vectors(list);
        }
        for number in [*next_dt, *pins, *damping, *start, *muscles] {
            out.f64(number);
        }
        out.u32s(contact_exits);
        out.f64s(contact_depths);
        out.list(contact_tangles.iter(), |out, &is_tangled| out.u32(u32::from(is_tangled)));
        out.list(contact_memory.iter(), |out, memory| {
            memory.key.iter().for_each(|&number| out.u32(number));
            out.vector(memory.slip);
        });
        out.f64s(meeting_speeds);
        out.f64s(activations);
        out.vectors(fiber_start);
        out.vectors(surfaces);
        out.list(self.held.iter(), |out, (name, value)| {
            out.text(name);
            out.f64(*value);
        });
        out.list(self.finished.iter(), |out, FinishedCase { case, checks }| {
            out.text(&case.label);
            out.f64(case.x);
            out.f64s(&case.measures);
            out.f64(case.seconds);
            out.list(checks.iter(), write_check);
        });
        out.list(self.others.iter(), |out, (name, history)| {
            out.text(name);
            out.list(history.names().iter(), |out, name| out.text(name));
            out.f64s(history.times());
            out.f64s(history.values());
        });
        out.list(self.timings.iter(), |out, timing| {
            let StepTiming { gradient, assembly, linear_solve, cycles, cell_sweeps, contact, total } = *timing;
            for duration in [gradient, assembly, linear_solve, cycles, contact, total] {
                out.u64(duration.as_nanos() as u64);
            }
            out.f64(cell_sweeps);
        });
        let checksum = crc32fast::hash(&out.0);
        out.u32(checksum);
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Result<Checkpoint, StoreError> {
        let content = bytes.strip_prefix(MAGIC).ok_or(StoreError::NotARecording)?;
        let whole = bytes.split_last_chunk::<4>().filter(|(front, sum)| crc32fast::hash(front).to_le_bytes() == **sum);
        if whole.is_none() {
            return Err(StoreError::Broken { what: "the checksum", offset: bytes.len() as u64 });
        }
        let mut input = ByteReader::new(content);
        let mut number = || input.u64("a number");
        let [fingerprint, case, frame, recording, recomputed, resumed] =
            [number()?, number()?, number()?, number()?, number()?, number()?];
        let what = "the state";
        let time = input.f64(what)?;
        let vectors = input.vectors(what)?;
        let rotations = input.list(32, what, |input| input.quaternion(what))?;
        let (positions, velocities, reactions) = (input.vectors(what)?, input.vectors(what)?, input.vectors(what)?);
        let history = History {
            rates: input.vectors(what)?,
            previous_rates: input.vectors(what)?,
            depth: input.u64(what)? as usize,
            last_dt: input.f64(what)?,
            rounding: input.f64(what)?,
            spectra: input.f64s(what)?,
            collider_poses: input.list(56, what, |input| {
                Ok(Pose { translation: input.vector(what)?, rotation: input.quaternion(what)? })
            })?,
            previous_positions: input.vectors(what)?,
            previous_velocities: input.vectors(what)?,
            accelerations: input.vectors(what)?,
            next_dt: input.f64(what)?,
            work: Work {
                pins: input.f64(what)?,
                damping: input.f64(what)?,
                start: input.f64(what)?,
                muscles: input.f64(what)?,
            },
            contact_exits: input.u32s(what)?,
            contact_depths: input.f64s(what)?,
            contact_tangles: input.list(4, what, |input| Ok(input.u32(what)? != 0))?,
            contact_memory: input.list(40, what, |input| {
                let mut number = || input.u32(what);
                let key = [number()?, number()?, number()?, number()?];
                Ok(ContactMemory { key, slip: input.vector(what)? })
            })?,
            meeting_speeds: input.f64s(what)?,
            activations: input.f64s(what)?,
            fiber_start: input.vectors(what)?,
            surfaces: input.vectors(what)?,
        };
        let unknowns = Unknowns { vectors, rotations };
        Ok(Checkpoint {
            fingerprint,
            case: case as usize,
            frame: frame as usize,
            recording,
            recomputed: recomputed as usize,
            resumed: resumed as usize,
            state: State { time, unknowns, positions, velocities, reactions, history },
            held: input.list(16, "held channels", |input| Ok((input.text("a name")?, input.f64("a value")?)))?,
            finished: input.list(8, "cases", |input| {
                let case = StudyCase {
                    label: input.text("a label")?,
                    x: input.f64("x")?,
                    measures: input.f64s("measures")?,
                    seconds: input.f64("seconds")?,
                };
                Ok(FinishedCase { case, checks: input.list(8, "expectations", read_check)? })
            })?,
            others: input.list(8, "other runs", |input| {
                let name = input.text("a name")?;
                let names = input.list(8, "names", |input| input.text("a name"))?;
                let (times, values) = (input.f64s("times")?, input.f64s("values")?);
                let history = ProbeHistory::from_parts(names, times, values);
                Ok((name, history.ok_or_else(|| input.broken("another run"))?))
            })?,
            timings: input.list(56, "times", |input| {
                let mut duration = || input.u64("a time").map(Duration::from_nanos);
                Ok(StepTiming {
                    gradient: duration()?,
                    assembly: duration()?,
                    linear_solve: duration()?,
                    cycles: duration()?,
                    contact: duration()?,
                    total: duration()?,
                    cell_sweeps: input.f64("a count")?,
                })
            })?,
        })
    }
}

fn write_check(out: &mut ByteWriter, check: &Checked) {
    out.text(&check.name);
    out.text(&check.expected);
    out.f64(check.got);
    out.list(check.time.iter(), |out, time| out.f64(*time));
    out.u8(u8::from(check.passed));
    out.u8(u8::from(check.reached));
}

fn read_check(input: &mut ByteReader<'_>) -> Result<Checked, StoreError> {
    Ok(Checked {
        name: input.text("a name")?,
        expected: input.text("an expectation")?,
        got: input.f64("a value")?,
        time: input.list(8, "a time", |input| input.f64("a time"))?.pop(),
        passed: input.u8("a flag")? != 0,
        reached: input.u8("a flag")? != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use sinew_math::{Quaternion, Vec3};

    fn sample() -> Checkpoint {
        let vectors = vec![Vec3::new(0.1, -0.0, 5e-324), Vec3::new(1.0, 2.0, 3.0)];
        let pose = Pose { translation: vectors[1], rotation: Quaternion { w: 0.5, x: 0.5, y: -0.5, z: 0.5 } };
        let mut history = ProbeHistory::new(&["a".into(), "b".into()]);
        history.push(0.0, &[1.0, f64::MAX]);
        Checkpoint {
            fingerprint: 7,
            case: 1,
            frame: 30,
            recording: 1 << 40,
            state: State {
                time: 0.5,
                unknowns: Unknowns { vectors: vectors.clone(), rotations: vec![pose.rotation] },
                positions: vectors.clone(),
                velocities: vectors.clone(),
                reactions: vectors.clone(),
                history: History {
                    rates: vectors.clone(),
                    previous_rates: Vec::new(),
                    depth: 2,
                    last_dt: 1.0 / 60.0,
                    rounding: 1e-12,
                    spectra: vec![3.5, 2.25],
                    collider_poses: vec![pose],
                    previous_positions: vectors.clone(),
                    previous_velocities: vectors.clone(),
                    accelerations: Vec::new(),
                    next_dt: 1e-3,
                    work: Work { pins: 0.5, damping: 0.25, start: 2.0, muscles: 0.125 },
                    contact_exits: vec![3, u32::MAX],
                    contact_depths: vec![0.5, 0.0],
                    contact_tangles: vec![true, false],
                    contact_memory: vec![ContactMemory { key: [1, 2, 3, 4], slip: Vec3::splat(0.1) }],
                    meeting_speeds: vec![0.0, 1.5],
                    activations: vec![0.0, 0.75],
                    fiber_start: vectors.clone(),
                    surfaces: vectors.clone(),
                },
            },
            held: vec![("arm".into(), 0.3)],
            finished: vec![FinishedCase {
                case: StudyCase { label: "n=1".into(), x: 0.5, measures: vec![1.0, 2.0], seconds: 0.1 },
                checks: vec![Checked {
                    name: "p".into(),
                    expected: "≥ 1".into(),
                    got: 2.0,
                    time: Some(0.5),
                    passed: true,
                    reached: true,
                }],
            }],
            others: vec![("other.toml".into(), history)],
            timings: vec![StepTiming {
                total: Duration::from_nanos(12_345),
                cell_sweeps: 2.5,
                ..StepTiming::default()
            }],
            recomputed: 3,
            resumed: 2,
        }
    }

    #[test]
    fn what_is_written_comes_back_bit_for_bit() {
        let checkpoint = sample();
        let bytes = checkpoint.encode();
        assert_eq!(Checkpoint::decode(&bytes).unwrap(), checkpoint);
        assert_eq!(Checkpoint::decode(&bytes).unwrap().encode(), bytes, "signs of zeros included");
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let bytes = sample().encode();
        for cut in 0..bytes.len() {
            assert!(Checkpoint::decode(&bytes[..cut]).is_err(), "cut at {cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert!(Checkpoint::decode(&damaged).is_err(), "flipped at {at}");
        }
    }
}
