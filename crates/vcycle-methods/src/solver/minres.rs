//! Minimal residuals.

use num_traits::Float;

use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::prelude::*;
use crate::scalar::RealOf;
use crate::stop::{Part, Status};

solver! {
    /// Minimal residuals for symmetric matrices (Paige and Saunders 1975).
    ///
    /// The Lanczos process with a QR factorisation of its tridiagonal matrix: the residual is minimal
    /// in the norm of the preconditioner, with three-term recurrences. The residual vector itself is
    /// carried along, `r_k = s_k^2 r_(k-1) + phi_k c_k v_(k+1)`, so that its Euclidean norm is known
    /// and not only that of the preconditioned residual.
    ///
    /// **Choose it** for symmetric (Hermitian) matrices that are indefinite or singular but
    /// consistent. The preconditioner has to be positive definite.
    ///
    #[doc = example!("Minres")]
    pub struct Minres {}
    name: "minres", summary: "Minimal residuals.", after_colon: &[], needs: Need::SYMMETRIC_FIXED,
    symmetry: Varying, memory: Memory::vectors(7),
}

/// The QR factorisation of one column's tridiagonal matrix, as far as it is still needed.
#[derive(Clone, Copy, Default)]
struct Rotation<R> {
    /// The entry of the Lanczos matrix beside its last diagonal one.
    next_beta: R,
    /// The largest entry so far.
    scale: R,
    /// The diagonal entry, rotated by all but the newest rotation.
    diagonal: R,
    /// The last two rotations.
    cosine: R,
    sine: R,
    old_cosine: R,
    old_sine: R,
    /// The last column of the triangular factor, from the diagonal upwards.
    gamma: R,
    delta: R,
    epsilon: R,
    /// The rotated right-hand side: the entry that is final and the one that follows.
    tau: R,
    phi: R,
    /// Whether the Krylov space holds nothing more.
    exhausted: bool,
}

impl<R: Real> Rotation<R> {
    fn start(beta: R) -> Self {
        Self {
            next_beta: beta,
            phi: beta,
            cosine: R::one(),
            old_cosine: R::one(),
            ..Self::default()
        }
    }

    /// Applies the old rotations to a new column of the tridiagonal matrix.
    fn extend(&mut self, alpha: R) {
        let beta = self.next_beta;
        self.scale = self.scale.max(Float::abs(alpha)).max(beta);
        self.epsilon = self.old_sine * beta;
        let rotated = self.old_cosine * beta;
        self.delta = self.cosine * rotated + self.sine * alpha;
        self.diagonal = self.cosine * alpha - self.sine * rotated;
    }

    /// Makes the rotation that removes the entry below the diagonal.
    fn eliminate(&mut self, next_beta: R) {
        self.next_beta = next_beta;
        (self.old_cosine, self.old_sine) = (self.cosine, self.sine);
        self.gamma = Float::hypot(self.diagonal, next_beta);
        // What is left is rounding: the matrix is singular and the system inconsistent.
        self.exhausted = self.gamma <= R::epsilon() * self.scale;
        (self.cosine, self.sine) = if self.exhausted {
            (R::zero(), R::one())
        } else {
            (self.diagonal / self.gamma, next_beta / self.gamma)
        };
        self.tau = self.cosine * self.phi;
        self.phi = -self.sine * self.phi;
    }
}

impl Minres {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        let mut state = State::take(run)?;
        let mut ended = run.start(&mut state.r, &mut state.norm)? || state.begin(run)?;
        while !ended {
            ended = state.lanczos(run)? || state.step(run)?;
        }
        Ok(())
    }
}

/// The vectors of the recurrences; `v` are those of Lanczos, `z = M v`, `w` the directions.
struct State<'w, T: Scalar> {
    r: Scratch<'w, Vector<T>>,
    old_v: Scratch<'w, Vector<T>>,
    v: Scratch<'w, Vector<T>>,
    next_v: Scratch<'w, Vector<T>>,
    z: Scratch<'w, Vector<T>>,
    w: Scratch<'w, Vector<T>>,
    old_w: Scratch<'w, Vector<T>>,
    qr: Scratch<'w, PerColumn<T, Rotation<RealOf<T>>>>,
    beta: Scratch<'w, Scalars<T>>,
    next_beta: Scratch<'w, Scalars<T>>,
    factor: Scratch<'w, Scalars<T>>,
    norm: Scratch<'w, Scalars<T>>,
}

impl<'w, T: Scalar> State<'w, T> {
    fn take(run: &Run<'w, T>) -> Result<Self> {
        let [r, old_v, v, next_v, z, w, old_w] = run.vectors()?;
        let [beta, next_beta, factor, norm] = run.scalars()?;
        Ok(Self {
            r,
            old_v,
            v,
            next_v,
            z,
            w,
            old_w,
            qr: PerColumn::take(run.ws, run.b)?,
            beta,
            next_beta,
            factor,
            norm,
        })
    }

    /// The first Lanczos vector, from the residual.
    fn begin(&mut self, run: &mut Run<'_, T>) -> Result<bool> {
        run.precondition(&self.r, &mut self.z)?;
        self.r.dot(&self.z, &mut self.beta)?;
        if run.require_positive(&self.beta, Part::Preconditioner)? {
            return Ok(true);
        }
        self.beta.square_root()?;
        let start = |column: &mut Rotation<_>, beta: T::Arith| {
            *column = Rotation::start(beta.real());
        };
        self.qr.receive(&self.beta, start)?;
        let unit = Coefficient::one().over(&self.beta);
        self.v.axpby(unit, &self.r, Coefficient::zero())?;
        self.z.scale(unit)?;
        for vector in [&mut self.old_v, &mut self.w, &mut self.old_w] {
            vector.fill(T::default())?;
        }
        Ok(false)
    }

    /// `next_beta next_v = A z - alpha v - beta old_v`, and the direction that `z` gives.
    fn lanczos(&mut self, run: &mut Run<'_, T>) -> Result<bool> {
        run.multiply(&self.z, &mut self.next_v)?;
        self.z.dot(&self.next_v, &mut self.factor)?;
        if run.require_finite(&self.factor)? {
            return Ok(true);
        }
        self.qr
            .receive(&self.factor, |column, alpha| column.extend(alpha.real()))?;
        self.next_v.axpy(-Coefficient::of(&self.factor), &self.v)?;
        self.next_v
            .axpy(-Coefficient::of(&self.beta), &self.old_v)?;

        // gamma w = z - delta w_(k-1) - epsilon w_(k-2); `step` divides by gamma.
        std::mem::swap(&mut self.w, &mut self.old_w);
        self.send(|column| column.epsilon)?;
        let epsilon = Coefficient::of(&self.factor);
        self.w.axpby(Coefficient::one(), &self.z, -epsilon)?;
        self.send(|column| column.delta)?;
        self.w.axpy(-Coefficient::of(&self.factor), &self.old_w)?;

        run.precondition(&self.next_v, &mut self.z)?;
        self.next_v.dot(&self.z, &mut self.next_beta)?;
        run.require_nonnegative(&self.next_beta, Part::Preconditioner)
    }

    /// The step along the direction, and the next Lanczos vector.
    fn step(&mut self, run: &mut Run<'_, T>) -> Result<bool> {
        self.next_beta.square_root()?;
        self.qr.receive(&self.next_beta, |column, beta| {
            column.eliminate(beta.real())
        })?;
        self.send(|column| column.gamma)?;
        self.w.scale(Coefficient::one().over(&self.factor))?;
        self.send(|column| column.tau)?;
        let tau = Coefficient::of(&self.factor).times(run.monitor.active());
        run.x.axpy(tau, &self.w)?;

        self.send(|column| column.sine * column.sine)?;
        self.r.scale(Coefficient::of(&self.factor))?;
        self.send(|column| column.phi * column.cosine)?;
        let share = Coefficient::ratio(&self.factor, &self.next_beta);
        self.r.axpy_norm(share, &self.next_v, &mut self.norm)?;
        if run.done(&self.norm)? || self.end_exhausted(run)? {
            return Ok(true);
        }
        let unit = Coefficient::one().over(&self.next_beta);
        self.next_v.scale(unit)?;
        self.z.scale(unit)?;
        std::mem::swap(&mut self.old_v, &mut self.v);
        std::mem::swap(&mut self.v, &mut self.next_v);
        std::mem::swap(&mut self.beta, &mut self.next_beta);
        Ok(false)
    }

    /// Puts a number of each column into `factor`.
    fn send(&mut self, each: impl Fn(&Rotation<RealOf<T>>) -> RealOf<T>) -> Result<()> {
        self.qr
            .send(&mut self.factor, |column| T::Arith::from_real(each(column)))
    }

    fn end_exhausted(&self, run: &mut Run<'_, T>) -> Result<bool> {
        for (index, column) in self.qr.iter().enumerate() {
            if column.exhausted {
                run.monitor.end(index, Status::Breakdown)?;
            }
        }
        Ok(run.monitor.all_ended())
    }
}
