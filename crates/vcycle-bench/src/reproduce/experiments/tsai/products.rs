//! Products in all precisions and formats.

use vcycle::matrix::Csr;
use vcycle::scalar::{Mixes, Scalar, bf16, f16};

use super::super::super::experiment::Scope;
use super::super::super::record::Value;
use super::super::product::{MATRICES, fastest, in_formats, product};
use super::super::solving::Ready;
use crate::common::Result;

/// All 64 combinations of matrix, input and output.
pub(super) fn combinations(scope: &Scope) -> Result<Vec<Value>> {
    let problem = scope.size(["beam:o2,l1", "beam:o3,l2", "beam:o3,l3"]);
    let ready = Ready::new(problem, &scope.executor()?)?;
    let mut all = Combinations {
        seconds: scope.size([0.0, 0.02, 0.1]),
        double: product::<f64, f64, f64>(ready.matrix(), scope.seconds())?,
        values: Vec::new(),
        a: ready.matrix(),
    };
    all.of_matrix::<f64>()?;
    all.of_matrix::<f32>()?;
    all.of_matrix::<f16>()?;
    all.of_matrix::<bf16>()?;
    let count = all.values.len() as f64;
    let kinds = Value::new("combinations of real types", "kinds", "", count);
    Ok([vec![kinds], all.values].concat())
}

struct Combinations<'a> {
    a: &'a Csr<f64>,
    seconds: f64,
    /// Seconds in double precision.
    double: f64,
    values: Vec<Value>,
}

/// Matrices that mix with two types either way, as an operator has to for its transpose.
trait MixesBoth<X: Scalar, Y: Scalar>: Mixes<X, Y> + Mixes<Y, X> {}
impl<X: Scalar, Y: Scalar, M: Mixes<X, Y> + Mixes<Y, X>> MixesBoth<X, Y> for M {}

/// Matrices that mix with all real types.
trait MixesAll<X: Scalar>:
    MixesBoth<X, f64> + MixesBoth<X, f32> + MixesBoth<X, f16> + MixesBoth<X, bf16>
{
}
impl<X: Scalar, M> MixesAll<X> for M where
    M: MixesBoth<X, f64> + MixesBoth<X, f32> + MixesBoth<X, f16> + MixesBoth<X, bf16>
{
}

impl Combinations<'_> {
    fn of_matrix<M: MixesAll<f64> + MixesAll<f32> + MixesAll<f16> + MixesAll<bf16>>(
        &mut self,
    ) -> Result<()> {
        self.of_input::<M, f64>()?;
        self.of_input::<M, f32>()?;
        self.of_input::<M, f16>()?;
        self.of_input::<M, bf16>()
    }

    fn of_input<M: MixesAll<X>, X: Scalar>(&mut self) -> Result<()> {
        self.one::<M, X, f64>()?;
        self.one::<M, X, f32>()?;
        self.one::<M, X, f16>()?;
        self.one::<M, X, bf16>()
    }

    fn one<M: MixesBoth<X, Y>, X: Scalar, Y: Scalar>(&mut self) -> Result<()> {
        let row = format!("{} x {} = {}", M::KIND, X::KIND, Y::KIND);
        let time = product::<M, X, Y>(self.a, self.seconds)?;
        self.values
            .push(Value::factor(row, "speed-up", self.double / time));
        Ok(())
    }
}

/// Five formats of five matrices.
pub(super) fn formats(scope: &Scope) -> Result<Vec<Value>> {
    let (mut values, executor) = (Vec::new(), scope.executor()?);
    for (name, sizes) in MATRICES {
        let ready = Ready::new(scope.size(sizes), &executor)?;
        let times = in_formats::<f64>(ready.matrix(), scope.seconds())?;
        let best = fastest(&times);
        for (format, time) in times {
            let row = format!("{name}, {format}");
            values.push(Value::factor(row, "times the fastest", time / best));
        }
    }
    Ok(values)
}
