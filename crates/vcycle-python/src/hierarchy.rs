//! `vcycle.amg`: a hierarchy that is kept, solved with, updated and looked at.

use std::sync::Arc;

use pyo3::exceptions::PyNotImplementedError;
use pyo3::prelude::*;
use serde_json::json;
use vcycle::config::{
    AnySystem, Config, PreconditionerConfig, Projection, RightHandSide, SolverConfig, System, Unit,
    attempts,
};
use vcycle::executor::Workspace;
use vcycle::linop::LinOp;
use vcycle::matrix::Csr;
use vcycle::multigrid::{self, Amg, LevelPrecisions, NearNullspace, Setup};
use vcycle::solver::{Solver, SolverFactory};
use vcycle::stop::Outcome;
use vcycle::structured::Generated;
use vcycle::vector::Vector;

use crate::arrays::{Arrays, to_scipy};
use crate::describe;
use crate::error::{OrRaise, parsed};
use crate::matrix::Matrix;
use crate::operator::{applied, matrix_operator};
use crate::solve::{like, of, vector};
use crate::watch::watched;

/// The arrays of a matrix, and its rows and columns.
type Given<'py> = (Arrays<'py>, (usize, usize));

/// All levels for a matrix.
#[pyclass(frozen)]
pub struct Hierarchy {
    system: System<f64>,
    /// Every `auto` decided.
    config: Config,
    levels: AnyLevels,
    nullspace: Option<Projection>,
}

/// The levels, by the kind of multigrid.
enum AnyLevels {
    Algebraic(Box<Setup>, Box<multigrid::Hierarchy<f64>>),
    Structured(Box<Generated<f64>>),
}

impl AnyLevels {
    /// Those of another matrix.
    fn update(&self, a: &Arc<dyn LinOp<f64>>) -> vcycle::Result<Self> {
        let ws = Workspace::new();
        Ok(match self {
            Self::Algebraic(setup, _) => {
                Self::Algebraic(setup.clone(), Box::new(setup.update_values(a, &ws)?))
            }
            Self::Structured(made) => Self::Structured(Box::new(made.setup.update_values(a, &ws)?)),
        })
    }

    /// One cycle.
    fn cycle(&self) -> Arc<dyn LinOp<f64>> {
        match self {
            Self::Algebraic(_, cycle) => Arc::new(cycle.as_ref().clone()),
            Self::Structured(made) => Arc::clone(&made.operator),
        }
    }

    fn report(&self) -> &multigrid::Report {
        match self {
            Self::Algebraic(_, cycle) => cycle.report(),
            Self::Structured(made) => &made.report,
        }
    }

    /// What only algebraic multigrid has.
    fn algebraic(&self) -> PyResult<(&Setup, &multigrid::Hierarchy<f64>)> {
        match self {
            Self::Algebraic(setup, cycle) => Ok((setup, cycle)),
            Self::Structured(_) => Err(PyNotImplementedError::new_err(
                "struct-mg has stencils on grids, no sparse matrices and no coarse unknowns to show",
            )),
        }
    }
}

#[pymethods]
impl Hierarchy {
    #[new]
    fn new(py: Python<'_>, matrix: &Matrix, config: &str) -> PyResult<Self> {
        let config = parsed(config)?;
        let system = real(matrix)?;
        py.detach(|| Self::set_up(system.clone(), config))
            .or_raise()
    }

    /// The hierarchy for other values in the same places.
    fn update(&self, py: Python<'_>, matrix: &Matrix) -> PyResult<Self> {
        let system = real(matrix)?;
        let made = py.detach(|| {
            let levels = self.levels.update(&matrix_operator(system))?;
            let near = system.near_nullspace.as_ref();
            Ok(Self {
                nullspace: Projection::new(self.config.nullspace, system.matrix.whole()?, near)?,
                system: system.clone(),
                config: self.config.clone(),
                levels,
            })
        });
        made.or_raise()
    }

    /// The solution and the outcome as JSON; by the solver and criteria of a configuration.
    #[pyo3(signature = (b, guess, config, callback, single))]
    fn solve<'py>(
        &self,
        py: Python<'py>,
        b: Bound<'py, PyAny>,
        guess: Option<Bound<'py, PyAny>>,
        config: &str,
        callback: Option<Py<PyAny>>,
        single: bool,
    ) -> PyResult<(Bound<'py, PyAny>, String)> {
        let asked = parsed(config)?;
        let mut config = self.config.clone();
        config.stop = asked.stop;
        if !asked.solver.is_auto() {
            config.solver = asked.solver;
        }
        let executor = self.system.matrix.executor();
        let rhs = vector::<f64>(&b, executor)?;
        let guess = guess.map(|guess| vector(&guess, executor)).transpose()?;
        let (x, outcome, messages) = watched(py, callback, |ws| {
            self.iterate(&config, &rhs, guess, single, ws)
        })?;
        let mut text = describe::outcome(&outcome, &config);
        text["messages"] = json!(messages);
        text["hierarchy"] = describe::report(self.levels.report());
        text["bytes"] = json!(self.levels.cycle().footprint().held);
        Ok((like(x, &b)?, text.to_string()))
    }

    /// One cycle from a zero guess, for one or many columns.
    fn apply<'py>(&self, py: Python<'py>, b: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        applied(py, self.levels.cycle().as_ref(), &b)
    }

    /// The matrix, restriction and prolongation of every level.
    fn matrices<'py>(&self, py: Python<'py>) -> PyResult<Vec<Vec<Given<'py>>>> {
        let (setup, _) = self.levels.algebraic()?;
        let matrices = || setup.matrices(&matrix_operator(&self.system), &Workspace::new());
        let levels = py.detach(matrices).or_raise()?;
        let arrays = |a: &Arc<Csr<f64>>| (to_scipy(py, a), (a.size().rows, a.size().cols));
        let of_level = |level: &multigrid::LevelMatrices| {
            let all = [
                Some(&level.a),
                level.restriction.as_ref(),
                level.prolongation.as_ref(),
            ];
            all.into_iter().flatten().map(arrays).collect()
        };
        Ok(levels.iter().map(of_level).collect())
    }

    /// For every level but the coarsest and every unknown (or node) of it: its number, or that of
    /// its group, on the next level, or -1. And whether unknowns are grouped.
    fn coarsening(&self, py: Python<'_>) -> PyResult<(bool, Vec<Vec<i64>>)> {
        let amg = self.levels.algebraic()?.1.amg();
        let maps = || amg.coarse_maps(&matrix_operator(&self.system), &Workspace::new());
        let maps = py.detach(maps).or_raise()?;
        let signed = |number: &u32| match *number {
            multigrid::coarsen::NONE => -1,
            number => number.into(),
        };
        let of_level = |map: &Vec<u32>| map.iter().map(signed).collect();
        Ok((maps.grouped, maps.maps.iter().map(of_level).collect()))
    }

    /// The levels in numbers, as JSON.
    fn report(&self) -> String {
        describe::report(self.levels.report()).to_string()
    }

    /// The configuration with every `auto` decided, as JSON.
    fn config(&self) -> String {
        json!(self.config).to_string()
    }
}

fn real(matrix: &Matrix) -> PyResult<&System<f64>> {
    match &matrix.any {
        AnySystem::Real(system) => Ok(system),
        AnySystem::Complex(_) => Err(PyNotImplementedError::new_err(
            "hierarchies to look into are for real matrices; `vcycle.solve` uses multigrid for complex ones, too",
        )),
    }
}

impl Hierarchy {
    fn set_up(system: System<f64>, mut config: Config) -> vcycle::Result<Self> {
        let near = system.near_nullspace.as_ref();
        let nullspace = Projection::new(config.nullspace, system.matrix.whole()?, near)?;
        let facts = || system.facts().expect("no other rank can fail");
        let first = attempts(&config, near, facts).swap_remove(0);
        let a = matrix_operator(&system);
        if let PreconditionerConfig::StructMg(parameters) = &first.preconditioner {
            let made = parameters.generate_with_report(&a, &Workspace::new())?;
            config.solver = first.solver;
            config.preconditioner = PreconditionerConfig::StructMg(made.parameters.clone());
            return Ok(Self {
                system,
                config,
                levels: AnyLevels::Structured(Box::new(made)),
                nullspace,
            });
        }
        let mut amg = match first.preconditioner {
            PreconditionerConfig::Amg(amg) => amg,
            _ => Amg::default(),
        };
        if nullspace.is_some() {
            // Rounding would add again what is taken out of a singular system.
            amg.precision = LevelPrecisions::uniform(Unit::Double);
        }
        let components = NearNullspace::components(amg.block_size)?;
        let (setup, cycle) = amg.setup_with(&a, near.unwrap_or(&components), &Workspace::new())?;
        config.solver = first.solver;
        config.preconditioner = PreconditionerConfig::Amg(cycle.amg().clone());
        Ok(Self {
            system,
            config,
            levels: AnyLevels::Algebraic(Box::new(setup), Box::new(cycle)),
            nullspace,
        })
    }

    /// The solution, how it was found, and what is to be said.
    fn iterate(
        &self,
        config: &Config,
        b: &Vector<f64>,
        guess: Option<Vector<f64>>,
        single: bool,
        ws: &Workspace,
    ) -> vcycle::Result<(Vector<f64>, Outcome, Vec<String>)> {
        let solver = self.solver(&config.solver, ws)?;
        let (b, message) = RightHandSide::new(b, self.nullspace.as_ref(), config.nullspace)?;
        let stop = b.stop(config.stop.stop()?);
        let mut x = match guess {
            Some(guess) => b.guess(guess)?,
            None => self.start(b.solvable(), ws)?,
        };
        let mut outcome = solver.solve_in(b.solvable(), &mut x, &stop, ws)?;
        if let Some(nullspace) = &self.nullspace {
            nullspace.project(&mut x)?;
        }
        b.judge(&of(&self.system, single), &mut x, &stop, &mut outcome, ws)?;
        Ok((x, outcome, Vec::from_iter(message)))
    }

    fn solver(&self, chosen: &SolverConfig, ws: &Workspace) -> vcycle::Result<Solver<f64>> {
        let factory = SolverFactory {
            method: chosen.method()?,
            preconditioner: None,
            stop: self.config.stop.stop()?,
        };
        let solver = factory.solver(&matrix_operator(&self.system), ws)?;
        solver.with_preconditioner(self.levels.cycle())
    }

    /// Zero, or what full multigrid finds.
    fn start(&self, b: &Vector<f64>, ws: &Workspace) -> vcycle::Result<Vector<f64>> {
        let mut x = Vector::zeros_like(b)?;
        if let AnyLevels::Algebraic(_, cycle) = &self.levels
            && cycle.amg().fmg_start
        {
            cycle.full_multigrid().apply(b, &mut x, ws)?;
        }
        Ok(x)
    }
}
