//! The parameters of an [`Fsai`] in a word, as smoothers have them: `4:5` or `4:step-size=5:power=1`.

use std::fmt::{Display, Formatter};
use std::str::FromStr;

use serde_json::{Map, Value};

use super::Fsai;
use crate::registration::Component;

impl Fsai {
    /// The parameters by their keys.
    fn keys(&self) -> Map<String, Value> {
        match serde_json::to_value(self) {
            Ok(Value::Object(keys)) => keys,
            _ => unreachable!("numbers and words alone are written"),
        }
    }
}

/// The steps, and what differs from the default with its key.
impl Display for Fsai {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.steps)?;
        let (own, usual) = (self.keys(), Self::DEFAULT.keys());
        for key in [
            "step-size",
            "tolerance",
            "power",
            "threshold",
            "filter",
            "setup",
        ] {
            match &own[key] {
                value if *value == usual[key] => {}
                Value::String(word) => write!(f, ":{key}={word}")?,
                number => write!(f, ":{key}={number}")?,
            }
        }
        Ok(())
    }
}

/// Values between colons: the first ones without their keys, in the order of `fsai:steps,step-size,tolerance`.
impl FromStr for Fsai {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut keys = Map::new();
        let mut in_order = Self::REGISTRATION.after_colon.iter();
        for part in text.split(':') {
            let (key, value) = match part.split_once('=') {
                Some(pair) => pair,
                None => (
                    *in_order.next().ok_or("too many values without a key")?,
                    part,
                ),
            };
            let whole = value.parse::<u64>().map(Value::from);
            let number = whole.or_else(|_| value.parse::<f64>().map(Value::from));
            keys.insert(key.to_owned(), number.unwrap_or_else(|_| value.into()));
            // The error names the key of the first wrong value.
            let so_far = Value::Object(keys.clone());
            serde_json::from_value::<Self>(so_far).map_err(|e| format!("{key} `{value}`: {e}"))?;
        }
        serde_json::from_value(Value::Object(keys)).map_err(|error| error.to_string())
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
