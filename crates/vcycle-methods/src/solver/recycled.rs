//! A space that is kept from one solve to the next.

use super::Run;
use super::block_space::Space;
use super::orthonormal::{norms, take_out};
use crate::dense::{Independent, singular_triplets};
use crate::prelude::*;

/// Of the square of its norm, what has to be left of an image for its vector to be kept.
const DEPENDENT: f64 = 1e-10;

/// Vectors `U` and their orthonormal images `C = A U`.
#[derive(Debug)]
pub(super) struct Recycled<T: Scalar> {
    /// Most vectors.
    count: usize,
    /// `U`, whatever the matrix is.
    vectors: Option<Vector<T>>,
    /// `C`, of the matrix at hand.
    images: Option<Vector<T>>,
    /// Of every vector, about the norm of what the preconditioner makes it of.
    weights: Vec<f64>,
}

impl<T: Scalar> Recycled<T> {
    /// No space, and none that is kept.
    pub(super) fn nothing() -> Self {
        Self::new(0, None)
    }

    /// A space of at most `count` vectors, which begins with those that are given.
    pub(super) fn new(count: usize, vectors: Option<Vector<T>>) -> Self {
        Self {
            count,
            weights: Vec::new(),
            vectors,
            images: None,
        }
    }

    /// How many vectors there are.
    pub(super) fn len(&self) -> usize {
        self.vectors.as_ref().map_or(0, Vector::cols)
    }

    /// Forgets vectors of another size or place: on all ranks, where they do not fit on one.
    fn check(&mut self, rows: usize, executor: &Executor) -> Result<()> {
        let Some(u) = &self.vectors else {
            return Ok(());
        };
        let fits = u.rows() == rows && executor.check_same(u.executor(), "recycling").is_ok();
        if executor.any(!fits)? {
            self.vectors = None;
        }
        Ok(())
    }

    /// Multiplies the vectors with the matrix of a run and makes the images orthonormal. Those with dependent images are left out.
    pub(super) fn begin(&mut self, run: &Run<'_, T>) -> Result<()> {
        self.check(run.b.rows(), run.b.executor())?;
        self.images = None;
        let Some(u) = self.vectors.take() else {
            return Ok(());
        };
        let mut pair = [u.clone(), Vector::zeros_like(&u)?];
        run.multiply(&u, &mut pair[1])?;
        // The second pass repairs what rounding leaves of products of columns that are almost dependent.
        for _ in 0..2 {
            let cols = pair[1].cols();
            let found = Independent::of(&pair[1].products(&pair[1])?, cols, DEPENDENT);
            if found.len() == 0 {
                return Ok(());
            }
            let factors = found.orthonormalising(cols);
            for vectors in &mut pair {
                let mut made = Vector::zeros(u.executor(), u.rows(), found.len())?;
                made.add_combination(vectors, &factors)?;
                *vectors = made;
            }
        }
        let [vectors, images] = pair;
        // Of an eigenvector of both, what the preconditioner makes of its image is as much shorter as it has to be made of a longer one.
        let mut z = Vector::zeros_like(&images)?;
        let made = norms(run.preconditioned(&images, &mut z)?)?;
        let weight = |(length, made): (f64, f64)| if made > 0.0 { length / made } else { 1.0 };
        self.weights = norms(&vectors)?.into_iter().zip(made).map(weight).collect();
        (self.vectors, self.images) = (Some(vectors), Some(images));
        Ok(())
    }

    /// Takes the part of the images out of `w`; returns it, row after row.
    pub(super) fn project(&self, w: &mut Vector<T>) -> Result<Vec<T::Arith>> {
        match &self.images {
            Some(images) => take_out(images, w),
            None => Ok(Vec::new()),
        }
    }

    /// Adds to a solution what the images have of the residual, without what they have of the images of a space.
    pub(super) fn add_to(
        &self,
        x: &mut Vector<T>,
        part: &[T::Arith],
        of_space: &[Vec<T::Arith>],
        solution: &[T::Arith],
    ) -> Result<()> {
        let (Some(vectors), Some(_)) = (&self.vectors, &self.images) else {
            return Ok(());
        };
        let (mut factors, cols) = (part.to_vec(), x.cols());
        for (image, solution) in of_space.iter().zip(solution.chunks_exact(cols)) {
            for (row, &image) in image.iter().enumerate() {
                for (column, &solution) in solution.iter().enumerate() {
                    factors[row * cols + column] -= image * solution;
                }
            }
        }
        x.add_combination(vectors, &factors)
    }

    /// Chooses the space anew, among the vectors it has and those of a Krylov space: those that the preconditioned matrix makes
    /// shortest, which are what slows a method of minimal residuals down.
    pub(super) fn renew(&mut self, run: &Run<'_, T>, space: &Space<'_, T>) -> Result<()> {
        if self.count == 0 || space.images.is_empty() {
            return Ok(());
        }
        let old = self.images.as_ref().map_or(0, Vector::cols);
        let basis: usize = space.blocks.iter().map(|block| block.cols()).sum();
        let mut triplets = singular_triplets(self.projected(space, old, basis));
        triplets.retain(|(value, ..)| *value > 0.0);
        triplets.truncate(self.count);
        let count = triplets.len();
        if count == 0 {
            return Ok(());
        }
        let right = |row: usize| {
            let scale = self.weights.get(row).filter(|_| row < old).copied();
            let scale = 1.0 / scale.unwrap_or(1.0);
            let entries = triplets.iter();
            entries.map(move |(value, _, right)| right[row] * T::Arith::from_f64(scale / value))
        };
        let rights: Vec<T::Arith> = (0..old + space.images.len()).flat_map(right).collect();
        let left = |row: usize| triplets.iter().map(move |(_, left, _)| left[row]);
        let lefts: Vec<T::Arith> = (0..old + basis).flat_map(left).collect();

        let at = (run.b.executor(), run.b.rows());
        let mut sum = run.ws.vector::<T>(at.0, at.1, count)?;
        let mut z = run.ws.vector::<T>(at.0, at.1, count)?;
        space.combine(&rights[old * count..], &mut sum)?;
        let mut vectors = Vector::zeros(at.0, at.1, count)?;
        vectors.copy_from(run.preconditioned(&sum, &mut z)?)?;
        let mut images = Vector::zeros(at.0, at.1, count)?;
        if let (Some(u), Some(c)) = (&self.vectors, &self.images) {
            vectors.add_combination(u, &rights[..old * count])?;
            images.add_combination(c, &lefts[..old * count])?;
        }
        let mut first = old;
        for block in space.blocks.iter().filter(|block| block.cols() > 0) {
            let end = first + block.cols();
            images.add_combination(block, &lefts[first * count..end * count])?;
            first = end;
        }
        self.weights = triplets.iter().map(|(value, ..)| 1.0 / value).collect();
        (self.vectors, self.images) = (Some(vectors), Some(images));
        Ok(())
    }

    /// What the preconditioned matrix makes of the vectors, scaled, and of those of a Krylov space, by the images and the basis.
    fn projected(&self, space: &Space<'_, T>, old: usize, basis: usize) -> Vec<Vec<T::Arith>> {
        let zeros = || vec![T::Arith::default(); old + basis];
        let mut columns: Vec<Vec<T::Arith>> = Vec::new();
        for (row, weight) in self.weights.iter().take(old).enumerate() {
            let mut column = zeros();
            column[row] = T::Arith::from_f64(1.0 / weight);
            columns.push(column);
        }
        for (image, of_old) in space.images.iter().zip(&space.recycled_images) {
            let mut column = zeros();
            column[..of_old.len()].copy_from_slice(of_old);
            column[old..old + image.len()].copy_from_slice(image);
            columns.push(column);
        }
        columns
    }
}
