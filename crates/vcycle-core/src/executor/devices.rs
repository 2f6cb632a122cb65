//! The assignment of devices to the ranks of a machine.

use super::Executor;
use crate::communicator::machine;
use crate::error::Result;

impl Executor {
    /// The same rank [with a device](Self::with_device), one of its own if the machine has enough: the ranks of a
    /// machine take turns at the `first` one and the following ones of the same model. If several ranks share one, a message is
    /// returned. All ranks call it together.
    ///
    /// # Errors
    /// As [`with_device`](Self::with_device), on all ranks.
    pub fn with_own_device(&self, first: &str) -> Result<(Self, Option<String>)> {
        let Some(team) = self.team() else {
            return Ok((self.with_device(first)?, None));
        };
        let (place, ranks) = team.alike(&surroundings())?;
        let devices = alike(first);
        let device = match devices.is_empty() {
            true => first,
            false => &devices[place % devices.len()],
        };
        let rank = self.agree(self.with_device(device))?;
        let sharing = match devices.len() {
            many if many >= ranks => None,
            0 | 1 => Some(format!("{ranks} ranks of one machine share {first}")),
            few => Some(format!("{ranks} ranks of one machine share {few} devices")),
        };
        Ok((rank, sharing))
    }

    /// Whether all ranks of the team use the same device. All of them call it together.
    pub fn is_device_of_all(&self) -> Result<bool> {
        let Some(team) = self.team() else {
            return Ok(self.is_device());
        };
        let own = [&surroundings(), self.name().as_bytes()].concat();
        let (_, ranks) = team.alike(&own)?;
        Ok(self.is_device() && ranks == team.size())
    }
}

/// What a device name depends on: the machine, and its devices that the launcher makes visible to the process.
pub(super) fn surroundings() -> Vec<u8> {
    let seen = ["CUDA", "HIP", "ROCR"].map(|vendor| {
        let list = std::env::var_os(format!("{vendor}_VISIBLE_DEVICES"));
        list.unwrap_or_default().into_encoded_bytes()
    });
    [machine(), seen.join(&b'\n')].concat()
}

/// A device and the following ones of the same model, by their names.
fn alike(first: &str) -> Vec<String> {
    let found = vcycle_gpu::discover().into_iter();
    let listed = found
        .filter(|found| first.starts_with(found.driver))
        .filter_map(|found| found.devices.ok());
    let mut devices: Vec<_> = listed.flatten().collect();
    let Some(place) = devices.iter().position(|device| device.name == first) else {
        return Vec::new();
    };
    let model = devices[place].model.clone();
    let after = devices.drain(place..);
    let same = after.filter(|device| device.model == model);
    same.map(|device| device.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::on_ranks;

    #[test]
    fn ranks_that_share_a_device_are_reported() {
        let Some(device) = crate::testing::device() else {
            return;
        };
        let name = device.name();
        let listed = alike(name).len();
        assert!(listed > 0 && alike("nothing:0").is_empty());
        on_ranks(listed + 1, |rank, _| {
            let (rank, message) = rank.with_own_device(name)?;
            assert!(rank.is_device() && message.unwrap().contains("share"));
            assert_eq!(rank.is_device_of_all()?, listed == 1);
            assert!(rank.on_host().with_own_device("opencl:99").is_err());
            Ok(())
        });
    }
}
