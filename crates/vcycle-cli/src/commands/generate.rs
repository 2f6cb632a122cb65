//! `vcycle gen`.

use vcycle::gallery;
use vcycle::io::{write_matrix, write_vector};

use crate::args::GenArgs;
use crate::output::format::count;
use crate::output::print;
use crate::prelude::*;

/// Writes a problem of the gallery.
pub fn run(args: &GenArgs) -> Result<ExitCode> {
    let executor = Executor::cpu();
    let problem = gallery::build(&args.problem, &executor)?;
    write_matrix(&args.output, &problem.matrix)?;
    if let Some(path) = &args.rhs_output {
        write_vector(path, &Vector::from_column(&executor, problem.rhs))?;
    }
    print(&format!(
        "{}: {} rows, {} entries written to {}",
        problem.name,
        count(problem.matrix.size().rows),
        count(problem.matrix.nonzeros()),
        args.output.display()
    ));
    Ok(ExitCode::SUCCESS)
}
