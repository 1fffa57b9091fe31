//! Why the model has no outcome.

use alloc::string::String;

use mm::units::Bytes;

/// Why the model has no outcome.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The scenario needs a mechanism that the model lacks.
    #[error(
        "the model does not simulate {what} ({place}); run it on a real kernel with `plimsoll \
         prove`, and see docs/model.md"
    )]
    Unsupported {
        /// The mechanism.
        what: String,
        /// Where the scenario asks for it.
        place: String,
    },
    /// The scenario needs a mechanism that cannot be sampled.
    #[error("the model does not sample {what} ({place}); simulate every page, with --scale 1")]
    Unsampled {
        /// The mechanism.
        what: String,
        /// Where the scenario asks for it.
        place: String,
    },
    /// No such scale.
    #[error("a scale of {scale} is none; give a power of two from 1 to 65536")]
    Scale {
        /// What was asked for.
        scale: u64,
    },
    /// A recording that was sampled, at a finer scale.
    #[error("the recording has one page of {least}, so a scale of {scale} is too fine for it")]
    Finer {
        /// What was asked for.
        scale: u64,
        /// How many pages one of the recording stands for.
        least: u64,
    },
    /// The scenario names something that it does not define.
    #[error("{place}: there is no {what}")]
    Unknown {
        /// What is missing.
        what: String,
        /// Where it is named.
        place: String,
    },
    /// The machine has less available than the scenario says.
    #[error(
        "the machine has {available} available when the run begins, and `available` is {wanted}; \
         give it more memory"
    )]
    Available {
        /// What the scenario says.
        wanted: Bytes,
        /// What there is.
        available: Bytes,
    },
    /// The calibration holds no usable boot state.
    #[error("the calibration's boot state of {memory} is not usable: {why}; calibrate again")]
    Boot {
        /// RAM of the state.
        memory: Bytes,
        /// What is wrong with it.
        why: String,
    },
    /// A tunable's value is not one the model can take.
    #[error("{tunable} = {value}: {why}")]
    Setting {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// The calibrated kernel has no file for the tunable.
    #[error("{tunable} = {value}: the calibrated kernel has no such tunable")]
    NoTunable {
        /// The tunable.
        tunable: String,
        /// The value.
        value: String,
    },
    /// The machine is too small for its kernel.
    #[error(
        "{memory} of RAM is too little for the kernel of this calibration; give the machine more"
    )]
    TooSmall {
        /// RAM asked for.
        memory: Bytes,
    },
    /// Memory is full and nobody may be killed: a kernel panics.
    #[error("the kernel panics: out of memory and no process may be killed (oom_score_adj -1000)")]
    NoVictim,
    /// The run does not end.
    #[error(
        "the run did not end within {limit}; give the workload a deadline, or more time between \
         samples"
    )]
    Endless {
        /// What it went through, in words.
        limit: &'static str,
    },
}

impl Error {
    /// The file or region at `place` has more pages than there are indices left.
    pub(crate) fn too_large(place: String) -> Self {
        Self::Unsupported {
            what: String::from("more than 16 TiB of files and regions"),
            place,
        }
    }
}
