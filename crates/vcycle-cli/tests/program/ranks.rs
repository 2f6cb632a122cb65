//! Ranks that share a device; `cases/ranks.txt` has those that are threads alone, `scripts/mpi-test` processes.

use crate::common::{scratch, vcycle};

#[test]
fn ranks_share_a_device() {
    let devices = vcycle_gpu::testing::devices();
    let Some(device) = devices.first() else {
        return;
    };
    let path = scratch("shared-device.mtx");
    let solved = |gathered: usize, options: &str| {
        let amg = format!("amg:pmis,gather-rows={gathered},coarsest-rows=50");
        let given = format!("solve poisson7:10 --precond {amg} --json {options}");
        let found = vcycle(&format!("{given} --output {}", path.display())).json();
        assert_eq!(found["status"], "converged");
        (found, std::fs::read(&path).unwrap())
    };
    let on_device = format!("--device {device}");
    // Rank 0 solves for all, as it does alone.
    let (alone, expected) = solved(10, &on_device);
    let (led, x) = solved(10, &format!("{on_device} --ranks 3 --threads 1"));
    assert!(x == expected && led["iterations"] == alone["iterations"]);
    let messages = led["messages"].to_string();
    assert!(messages.contains("rank 0 solves for all"), "{messages}");
    assert_eq!(led["ranks"].as_array().unwrap().len(), 3);
    // Levels that are shared nevertheless.
    let (here, _) = solved(0, "--ranks 2");
    let (there, _) = solved(0, &format!("{on_device} --ranks 2"));
    assert_eq!(there["iterations"], here["iterations"]);
    let message = there["messages"][1].as_str().unwrap();
    assert!(message.contains("share"), "{message}");
}
