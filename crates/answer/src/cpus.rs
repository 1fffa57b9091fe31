//! How many CPUs a bench can have.

use mm::text::counted;
use study::AtHand;

/// How many CPUs a bench can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cpus {
    /// As many as are asked for.
    Any,
    /// Up to this number, as in virtual time.
    UpTo(u32),
}

impl Cpus {
    /// Gives a machine no more than the bench can have; a line says what was asked for.
    pub(crate) fn limit(self, at_hand: &mut AtHand) -> Option<String> {
        let (Self::UpTo(most), Some(asked)) = (self, at_hand.cpus) else {
            return None;
        };
        (asked > most).then(|| {
            at_hand.cpus = Some(most);
            let cpus = counted(most, "CPU");
            format!("on {cpus}, not {asked}: virtual time has {most} at most")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_a_bench_can_have_are_cut_and_said() {
        let limited = |cpus: Cpus, asked| {
            let mut at_hand = AtHand {
                cpus: asked,
                ..AtHand::default()
            };
            (cpus.limit(&mut at_hand), at_hand.cpus)
        };
        let said = "on 4 CPUs, not 64: virtual time has 4 at most".to_owned();
        assert_eq!(limited(Cpus::UpTo(4), Some(64)), (Some(said), Some(4)));
        assert_eq!(limited(Cpus::UpTo(4), Some(4)), (None, Some(4)));
        assert_eq!(limited(Cpus::UpTo(4), None), (None, None));
        assert_eq!(limited(Cpus::Any, Some(64)), (None, Some(64)));
    }
}
