//! The parameters of an [`Fsai`] in a word, as smoothers have them: `4:5` or `4:step-size=5:power=1`.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use super::{Fsai, FsaiSetup};
use crate::registration::Component;

/// The steps, and what differs from the default with its key.
impl Display for Fsai {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        let usual = Self::DEFAULT;
        write!(f, "{}", self.steps)?;
        if self.step_size != usual.step_size {
            write!(f, ":step-size={}", self.step_size)?;
        }
        if self.tolerance != usual.tolerance {
            write!(f, ":tolerance={:?}", self.tolerance)?;
        }
        if self.power != usual.power {
            write!(f, ":power={}", self.power)?;
        }
        if self.threshold != usual.threshold {
            write!(f, ":threshold={:?}", self.threshold)?;
        }
        if self.filter != usual.filter {
            write!(f, ":filter={:?}", self.filter)?;
        }
        match self.setup {
            FsaiSetup::Double => Ok(()),
            FsaiSetup::Single => f.write_str(":setup=single"),
        }
    }
}

/// Values between colons: the first ones without their keys, in the order of `fsai:steps,step-size,tolerance`.
impl FromStr for Fsai {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut fsai = Self::DEFAULT;
        let mut in_order = Self::REGISTRATION.after_colon.iter();
        for part in text.split(':') {
            match part.split_once('=') {
                Some((key, value)) => fsai.set(key, value)?,
                None => {
                    let key = in_order.next().ok_or("too many values without a key")?;
                    fsai.set(key, part)?;
                }
            }
        }
        Ok(fsai)
    }
}

impl Fsai {
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        fn read<N: FromStr<Err: Display>>(key: &str, value: &str) -> Result<N, String> {
            let told = |error: N::Err| format!("{key} `{value}`: {error}");
            value.parse().map_err(told)
        }
        match key {
            "steps" => self.steps = read(key, value)?,
            "step-size" => self.step_size = read(key, value)?,
            "tolerance" => self.tolerance = read(key, value)?,
            "power" => self.power = read(key, value)?,
            "threshold" => self.threshold = read(key, value)?,
            "filter" => self.filter = read(key, value)?,
            "setup" => {
                self.setup = match value {
                    "double" => FsaiSetup::Double,
                    "single" => FsaiSetup::Single,
                    other => return Err(format!("setup `{other}` is neither double nor single")),
                }
            }
            other => {
                return Err(format!(
                    "unknown key `{other}`; the keys are steps, step-size, tolerance, power, threshold, filter, setup"
                ));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        for (text, written) in [
            ("20", "20"),
            ("4:5", "4:step-size=5"),
            ("4:5:0.01", "4:step-size=5:tolerance=0.01"),
            ("step-size=2", "10:step-size=2"),
            (
                "0:power=2:threshold=0.1:filter=0.05:setup=single",
                "0:power=2:threshold=0.1:filter=0.05:setup=single",
            ),
        ] {
            let fsai: Fsai = text.parse().unwrap();
            assert_eq!(fsai.to_string(), written);
            assert_eq!(written.parse(), Ok(fsai));
        }
        for (text, word) in [
            ("x", "steps `x`"),
            ("1:2:3:4", "too many"),
            ("size=3", "step-size"),
        ] {
            let error = text.parse::<Fsai>().unwrap_err();
            assert!(error.contains(word), "{error}");
        }
    }
}
