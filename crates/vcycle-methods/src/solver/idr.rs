//! Induced dimension reduction.

use num_traits::{Float, Zero};

use super::basis::{Basis, RandomVectors};
use super::per_column::PerColumn;
use super::{Run, example, solver};
use crate::prelude::*;

/// The cosine below which the step `omega` is lengthened (Sleijpen and van der Vorst 1995).
const ANGLE: f64 = 0.7;

solver! {
    /// Induced dimension reduction IDR(s) with biorthogonal residuals (van Gijzen and Sonneveld
    /// 2011, algorithm 5.1), preconditioned from the right.
    ///
    /// Forces the residual into a shrinking sequence of spaces, each orthogonal to `s` fixed random
    /// vectors. Short recurrences with `3 s + 5` vectors; every product counts as an iteration.
    ///
    /// **Choose it** for nonsymmetric matrices when the memory of [`Gmres`](super::Gmres) is too
    /// much; it mostly beats [`Bicgstab`](super::Bicgstab), to which `s = 1` is similar.
    ///
    #[doc = example!("Idr")]
    pub struct Idr {
        /// Dimension of the shadow space: more is more robust and needs more memory.
        pub s: usize = 4,
        /// Seed of the shadow space.
        pub seed: u64 = 1,
    }
    name: "idr", summary: "Induced dimension reduction.", after_colon: &["s", "seed"],
    needs: &[FixedPreconditioner], symmetry: Varying, memory: Memory::vectors(6);
    more memory: |own, _| Memory::vectors(own.s.saturating_mul(3));
}

impl Idr {
    fn iterate<T: Scalar>(&self, run: &mut Run<'_, T>) -> Result<()> {
        if self.s == 0 {
            return Err(Error::bad_parameter("s", "must be at least 1"));
        }
        let mut state = State::take(self, run)?;
        let mut ended = run.start(&mut state.r, &mut state.norm)?;
        state.reset()?;
        while !ended {
            ended = state.reduce(run)? || state.minimise(run)?;
        }
        Ok(())
    }
}

/// The small system of one column.
#[derive(Default)]
struct Small<A: Field> {
    s: usize,
    /// `P^H G`, lower triangular, column after column.
    m: Vec<A>,
    /// `P^H r`.
    f: Vec<A>,
    /// What combines the vectors of `G` and `U`.
    c: Vec<A>,
    /// The coefficient about to be used.
    factor: A,
    /// `<t, r>` and `<t, t>`.
    tr: A,
    tt: A,
}

impl<A: Field> Small<A> {
    fn reset(&mut self, s: usize) {
        self.s = s;
        for list in [&mut self.f, &mut self.c, &mut self.m] {
            list.clear();
        }
        self.f.resize(s, A::zero());
        self.c.resize(s, A::zero());
        self.m.resize(s * s, A::zero());
        for k in 0..s {
            self.m[k * s + k] = A::one();
        }
    }

    fn m(&self, row: usize, column: usize) -> A {
        self.m[column * self.s + row]
    }

    /// Solves the part from `k` on of `M c = f`.
    fn combine(&mut self, k: usize) {
        for row in k..self.s {
            let known: A = (k..row).map(|j| self.m(row, j) * self.c[j]).sum();
            self.c[row] = (self.f[row] - known) / self.m(row, row);
        }
    }

    /// The step that removes component `k` of `f`.
    fn step(&mut self, k: usize) {
        self.factor = self.f[k] / self.m(k, k);
        for row in k + 1..self.s {
            let overlap = self.m(row, k);
            self.f[row] -= self.factor * overlap;
        }
    }

    /// The step along `t` that shortens `r`, kept from being too small for a stable recurrence.
    fn omega(&mut self, norm: A) {
        let length = Float::sqrt(self.tt.real()) * norm.real();
        let cosine = self.tr.modulus() / length;
        let angle = A::from_f64(ANGLE).real();
        self.factor = if self.tt.is_zero() {
            A::zero()
        } else {
            self.tr / self.tt
        };
        if cosine < angle && !cosine.is_zero() {
            self.factor *= A::from_real(angle / cosine);
        }
    }
}

struct State<'w, T: Scalar> {
    s: usize,
    r: Scratch<'w, Vector<T>>,
    v: Scratch<'w, Vector<T>>,
    z: Scratch<'w, Vector<T>>,
    p: Scratch<'w, RandomVectors<T>>,
    g: Scratch<'w, Basis<T>>,
    u: Scratch<'w, Basis<T>>,
    small: Scratch<'w, PerColumn<T, Small<T::Arith>>>,
    omega: Scratch<'w, Scalars<T>>,
    factor: Scratch<'w, Scalars<T>>,
    norm: Scratch<'w, Scalars<T>>,
}

impl<'w, T: Scalar> State<'w, T> {
    fn take(method: &Idr, run: &Run<'w, T>) -> Result<Self> {
        let (ws, b) = (run.ws, run.b);
        let s = method.s.min(b.global_rows()?.max(1));
        let [r, v, z] = run.vectors()?;
        let [omega, factor, norm] = run.scalars()?;
        Ok(Self {
            s,
            r,
            v,
            z,
            p: RandomVectors::take(ws, b.executor(), b.rows(), b.cols(), s, method.seed)?,
            g: Basis::take(ws, b, s)?,
            u: Basis::take(ws, b, s)?,
            small: PerColumn::take(ws, b)?,
            omega,
            factor,
            norm,
        })
    }

    fn reset(&mut self) -> Result<()> {
        for k in 0..self.s {
            self.g[k].fill(T::default())?;
            self.u[k].fill(T::default())?;
        }
        for column in self.small.iter_mut() {
            column.reset(self.s);
        }
        self.omega.assign(Coefficient::one())
    }

    /// The `s` steps that make the residual orthogonal to the shadow space.
    fn reduce(&mut self, run: &mut Run<'_, T>) -> Result<bool> {
        for (k, p) in self.p.vectors().iter().enumerate() {
            p.dot(&self.r, &mut self.factor)?;
            self.small
                .receive(&self.factor, |column, value| column.f[k] = value)?;
        }
        for k in 0..self.s {
            self.direction(run, k)?;
            self.orthogonalise(k)?;
            if run.require_nonzero(&self.factor)? {
                return Ok(true);
            }
            self.small.iter_mut().for_each(|column| column.step(k));
            self.small.send(&mut self.factor, |column| column.factor)?;
            let beta = Coefficient::of(&self.factor);
            let (u, g) = (&self.u[k], &self.g[k]);
            if run.advance(beta, u, g, &mut self.r, &mut self.norm)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// A new direction in `u[k]` and its image in `g[k]`.
    fn direction(&mut self, run: &Run<'_, T>, k: usize) -> Result<()> {
        let s = self.s;
        self.small.iter_mut().for_each(|column| column.combine(k));
        self.v.copy_from(&*self.r)?;
        for i in k..s {
            self.small.send(&mut self.factor, |column| column.c[i])?;
            self.v.axpy(-Coefficient::of(&self.factor), &self.g[i])?;
        }
        let z = run.preconditioned(&self.v, &mut self.z)?;
        self.small.send(&mut self.factor, |column| column.c[k])?;
        let (omega, repeat) = (Coefficient::of(&self.omega), Coefficient::of(&self.factor));
        self.u[k].axpby(omega, z, repeat)?;
        for i in k + 1..s {
            self.small.send(&mut self.factor, |column| column.c[i])?;
            let (head, tail) = self.u.split_at_mut(i);
            head[k].axpy(Coefficient::of(&self.factor), &tail[0])?;
        }
        run.multiply(&self.u[k], &mut self.g[k])
    }

    /// Makes `g[k]` orthogonal to the first `k` shadow vectors and fills column `k` of `M`, whose
    /// diagonal entry it leaves in `factor`.
    fn orthogonalise(&mut self, k: usize) -> Result<()> {
        let (old_g, g) = self.g.split_at_mut(k);
        let (old_u, u) = self.u.split_at_mut(k);
        let shadow = self.p.vectors();
        for i in 0..k {
            shadow[i].dot(&g[0], &mut self.factor)?;
            self.small.receive(&self.factor, |column, value| {
                column.factor = value / column.m(i, i);
            })?;
            self.small.send(&mut self.factor, |column| column.factor)?;
            g[0].axpy(-Coefficient::of(&self.factor), &old_g[i])?;
            u[0].axpy(-Coefficient::of(&self.factor), &old_u[i])?;
        }
        for i in (k..self.s).rev() {
            shadow[i].dot(&g[0], &mut self.factor)?;
            self.small.receive(&self.factor, |column, value| {
                column.m[k * column.s + i] = value;
            })?;
        }
        Ok(())
    }

    /// The step into the next space, of minimal residual.
    fn minimise(&mut self, run: &mut Run<'_, T>) -> Result<bool> {
        let z = run.preconditioned(&self.r, &mut self.z)?;
        run.multiply(z, &mut self.v)?;
        let (v, r) = (&self.v, &self.r);
        v.dot2(r, v, &mut self.omega, &mut self.factor)?;
        self.small
            .receive(&self.omega, |column, value| column.tr = value)?;
        self.small
            .receive(&self.factor, |column, value| column.tt = value)?;
        self.small.receive(&self.norm, Small::omega)?;
        self.small.send(&mut self.omega, |column| column.factor)?;
        if run.require_nonzero(&self.omega)? {
            return Ok(true);
        }
        let omega = Coefficient::of(&self.omega);
        run.x.axpy(omega.times(run.monitor.active()), z)?;
        self.r.axpy_norm(-omega, &self.v, &mut self.norm)?;
        run.done(&self.norm)
    }
}
