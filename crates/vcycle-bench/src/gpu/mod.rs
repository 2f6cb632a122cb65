//! `vcycle-bench gpu`: a GPU beside its own memory, beside cuSPARSE and beside published times.

mod bench;
mod columns;
pub(crate) mod cusparse;
mod latency;
mod products;
pub(crate) mod setup;
mod solve;

use self::bench::GpuBench;
use crate::asked::Asked;
use crate::common::Result;
use crate::solves::precisions;
use crate::table::Report;

pub(crate) fn run(asked: &Asked) -> Result<()> {
    let bench = &GpuBench::new(asked, asked.path("matrices"))?;
    // What `latency` starts in processes of their own.
    if asked.wants("kernels", false) {
        return latency::use_kernels(bench);
    }
    let wanted = |part| asked.wants(part, true);
    let precisions_or = |own: &[&'static str]| -> Vec<String> {
        let given = asked.list("precisions");
        let chosen = if given.is_empty() {
            own.to_vec()
        } else {
            given
        };
        chosen.into_iter().map(str::to_owned).collect()
    };
    let report = &mut Report::new(asked.path("output"));
    let bandwidth = latency::facts(bench, report)?;
    if wanted("latency") {
        latency::run(bench, report)?;
    }
    if wanted("spmv") {
        products::run(bench, bandwidth, report)?;
    }
    if wanted("columns") {
        columns::run(bench, &precisions_or(&["sp"]), report)?;
    }
    if wanted("formats") {
        columns::formats(bench, report)?;
    }
    if wanted("solve") {
        solve::run(bench, &precisions_or(&["dp", "sp", "dp-sp"]), report)?;
    }
    if wanted("precision") {
        report.add("## Mixed precision beside the papers")?;
        let problems = ["beam:o3,l3", "lshape:o3,l7"];
        for problem in bench.of_size(&problems, &["beam:o2,l1", "lshape:o2,l3"]) {
            report.add(precisions(problem, &bench.executor)?)?;
        }
    }
    Ok(())
}
