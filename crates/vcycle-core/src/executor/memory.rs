//! The memory that is free, and whether a large allocation fits.

use std::path::Path;
use std::sync::OnceLock;

use super::Executor;
use crate::error::{Error, Result};

/// Requests up to this many bytes are not compared with what is free.
const SMALL: usize = 64 << 20;

/// Smaller estimates are not checked: the check takes longer than small solves.
const NEGLIGIBLE: usize = 1 << 20;

/// Whether the system has this much memory.
///
/// It may promise more than it has and end the process when the memory is used, so a large
/// request is compared with what is free.
pub fn fits(bytes: usize) -> bool {
    let promised = Vec::<u8>::new().try_reserve_exact(bytes).is_ok();
    promised && (bytes <= SMALL || available_memory().is_none_or(|free| bytes <= free))
}

/// Fails unless there is memory for `count` values of `bytes_each`.
pub fn check_memory(executor: &Executor, count: usize, bytes_each: usize) -> Result<()> {
    let bytes = count.saturating_mul(bytes_each);
    if fits(bytes) {
        return Ok(());
    }
    Err(Error::OutOfMemory {
        bytes,
        executor: executor.name().to_owned(),
    })
}

impl Executor {
    /// Bytes of memory that are free on a device, or on the host. `None` if unknown.
    pub fn available_memory(&self) -> Option<usize> {
        match self.device() {
            Some(device) => device.free_memory().ok(),
            None => available_memory(),
        }
    }

    /// Fails, with both numbers, if more memory is needed than is free.
    ///
    /// # Errors
    /// [`Error::NotEnoughMemory`].
    pub fn check_need(&self, what: impl FnOnce() -> String, needed: usize) -> Result<()> {
        if needed <= NEGLIGIBLE {
            return Ok(());
        }
        match self.available_memory() {
            Some(available) if needed > available => Err(Error::NotEnoughMemory {
                what: what(),
                needed,
                available,
                executor: self.name().to_owned(),
            }),
            _ => Ok(()),
        }
    }
}

/// Overrides the free memory of the system: bytes, perhaps with a unit (`8G`), or `unlimited`.
const VARIABLE: &str = "VCYCLE_MEMORY";

/// Bytes of memory that the process can use without swapping and without being killed, if the system reports them: the free
/// memory, bounded by the control groups of the process and its own limit (`ulimit -v`).
pub fn available_memory() -> Option<usize> {
    let root = Path::new("/");
    match limit_of_user() {
        Some(limit) => limit,
        None => least([of_system(), of_groups(root), of_process(root)]),
    }
}

fn least(limits: impl IntoIterator<Item = Option<usize>>) -> Option<usize> {
    limits.into_iter().flatten().min()
}

/// The value of the environment, read once; text that is not a number is ignored.
fn limit_of_user() -> Option<Option<usize>> {
    static LIMIT: OnceLock<Option<Option<usize>>> = OnceLock::new();
    *LIMIT.get_or_init(|| std::env::var(VARIABLE).ok().and_then(|text| parsed(&text)))
}

fn parsed(text: &str) -> Option<Option<usize>> {
    let text = text.trim();
    if text == "unlimited" {
        return Some(None);
    }
    let digits = text.trim_end_matches(|unit: char| unit.is_ascii_alphabetic());
    let unit = match text[digits.len()..].to_ascii_uppercase().as_str() {
        "" | "B" => 1.0,
        "K" | "KB" => 1e3,
        "M" | "MB" => 1e6,
        "G" | "GB" => 1e9,
        "T" | "TB" => 1e12,
        _ => return None,
    };
    let value: f64 = digits.trim().parse().ok()?;
    (value >= 0.0).then_some(Some((value * unit) as usize))
}

fn of_system() -> Option<usize> {
    kibibytes(Path::new("/proc/meminfo"), "MemAvailable:")
}

/// The bytes behind a key in a file of facts, which has them in units of 1024.
fn kibibytes(file: &Path, key: &str) -> Option<usize> {
    let facts = std::fs::read_to_string(file).ok()?;
    let number = facts.lines().find_map(|line| line.strip_prefix(key))?;
    let kibibytes: usize = number.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// The address space that the limit of this process leaves.
fn of_process(root: &Path) -> Option<usize> {
    let limits = std::fs::read_to_string(root.join("proc/self/limits")).ok()?;
    let of_line = |line: &str| -> Option<usize> {
        let numbers = line.strip_prefix("Max address space")?;
        numbers.split_whitespace().next()?.parse().ok()
    };
    // Without a limit the line has `unlimited`.
    let limit = limits.lines().find_map(of_line)?;
    let used = kibibytes(&root.join("proc/self/status"), "VmSize:")?;
    Some(limit.saturating_sub(used))
}

/// The memory that the control groups of this process and their parents leave, of either version.
fn of_groups(root: &Path) -> Option<usize> {
    let groups = std::fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let limits = groups.lines().filter_map(|line| {
        let (kinds, path) = line.split_once(':')?.1.split_once(':')?;
        match kinds {
            "" => of_group(&root.join("sys/fs/cgroup"), path, &VERSION_2),
            _ if kinds.split(',').any(|kind| kind == "memory") => {
                of_group(&root.join("sys/fs/cgroup/memory"), path, &VERSION_1)
            }
            _ => None,
        }
    });
    limits.min()
}

/// The files of a control group.
struct GroupFiles {
    limit: &'static str,
    usage: &'static str,
    /// The part of the usage that the kernel can reclaim: its file cache.
    reclaimable: [&'static str; 2],
}

const VERSION_2: GroupFiles = GroupFiles {
    limit: "memory.max",
    usage: "memory.current",
    reclaimable: ["inactive_file ", "active_file "],
};
const VERSION_1: GroupFiles = GroupFiles {
    limit: "memory.limit_in_bytes",
    usage: "memory.usage_in_bytes",
    reclaimable: ["total_inactive_file ", "total_active_file "],
};

fn of_group(mount: &Path, path: &str, files: &GroupFiles) -> Option<usize> {
    let folder = mount.join(path.trim_start_matches('/'));
    // In a container the path may be that of the host system; the group itself is then at the top.
    let around = folder.ancestors().take_while(|at| at.starts_with(mount));
    least(around.map(|at| left_in(at, files)))
}

fn left_in(folder: &Path, files: &GroupFiles) -> Option<usize> {
    let number = |name: &str| -> Option<usize> {
        let text = std::fs::read_to_string(folder.join(name)).ok()?;
        // A group without a limit has `max`, or a number beyond all memory.
        text.trim().parse().ok()
    };
    let (limit, usage) = (number(files.limit)?, number(files.usage)?);
    let facts = std::fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    let fact = |name: &str| -> usize {
        let found = facts.lines().find_map(|line| line.strip_prefix(name));
        found.and_then(|text| text.trim().parse().ok()).unwrap_or(0)
    };
    let reclaimable: usize = files.reclaimable.iter().map(|name| fact(name)).sum();
    Some(limit.saturating_sub(usage.saturating_sub(reclaimable)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assert_refused;

    #[test]
    fn more_than_there_is_gets_refused() {
        let refused = check_memory(&Executor::reference(), usize::MAX, 12);
        assert_refused!(refused, OutOfMemory { .. });
        if let Some(free) = available_memory() {
            assert!(!fits(2 * free));
        }
        assert!(fits(1000));
    }

    #[test]
    fn a_refusal_has_both_numbers() {
        let host = Executor::reference();
        assert!(host.check_need(|| "nothing".to_owned(), 0).is_ok());
        let Some(free) = host.available_memory() else {
            return;
        };
        let refused = host.check_need(|| "this".to_owned(), free.saturating_mul(4));
        match refused.unwrap_err() {
            Error::NotEnoughMemory {
                needed, available, ..
            } => assert!(needed > available),
            other => panic!("{other}"),
        }
    }

    #[test]
    fn limits_are_numbers_with_units() {
        assert_eq!(parsed("unlimited"), Some(None));
        assert_eq!(parsed("1000"), Some(Some(1000)));
        assert_eq!(parsed(" 1.5 GB "), Some(Some(1_500_000_000)));
        assert_eq!(parsed("8g"), Some(Some(8_000_000_000)));
        assert_eq!(parsed("much"), None);
        assert_eq!(parsed("-1"), None);
    }

    /// A mock file system in a folder of this test.
    fn with_files(
        name: &str,
        files: &[(&str, &str)],
        left: impl Fn(&Path) -> Option<usize>,
    ) -> Option<usize> {
        let root =
            std::env::temp_dir().join(format!("vcycle-groups-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let found = left(&root);
        std::fs::remove_dir_all(&root).unwrap();
        found
    }

    #[test]
    fn groups_leave_their_limit_less_what_is_used() {
        let left = with_files(
            "two",
            &[
                ("proc/self/cgroup", "0::/outer/inner\n"),
                ("sys/fs/cgroup/outer/memory.max", "1000\n"),
                ("sys/fs/cgroup/outer/memory.current", "700\n"),
                (
                    "sys/fs/cgroup/outer/memory.stat",
                    "anon 1\ninactive_file 100\nactive_file 50\n",
                ),
                ("sys/fs/cgroup/outer/inner/memory.max", "max\n"),
                ("sys/fs/cgroup/outer/inner/memory.current", "1\n"),
            ],
            of_groups,
        );
        assert_eq!(left, Some(450));
        let left = with_files(
            "one",
            &[
                ("proc/self/cgroup", "5:cpu,cpuacct:/\n4:memory:/elsewhere\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "500\n"),
                ("sys/fs/cgroup/memory/memory.usage_in_bytes", "600\n"),
            ],
            of_groups,
        );
        assert_eq!(left, Some(0));
        let none = [("proc/self/cgroup", "0::/\n")];
        assert_eq!(with_files("none", &none, of_groups), None);
    }

    #[test]
    fn a_process_has_what_its_limit_leaves() {
        let left = |limit: &str| {
            let limits = format!(
                "Limit  Soft Hard Units\nMax address space   {limit}   unlimited   bytes\n"
            );
            let files = [
                ("proc/self/limits", limits.as_str()),
                ("proc/self/status", "Name:\tx\nVmSize:\t       4 kB\n"),
            ];
            with_files(limit, &files, of_process)
        };
        assert_eq!(left("10000"), Some(5904));
        assert_eq!(left("unlimited"), None);
    }
}
