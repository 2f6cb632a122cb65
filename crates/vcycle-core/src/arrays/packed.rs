//! Vectors of one shape in fewer bits.

use vcycle_gpu::Readback;

use crate::error::{Error, Result};
use crate::executor::{Buffer, Executor};
use crate::scalar::{Code, Scalar, c32, f16};

/// What vectors that only span a space are stored in. Arithmetic stays that of the working precision.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Storage {
    /// As all other vectors.
    #[default]
    Working,
    /// Single precision.
    Sp,
    /// Half precision, each vector with a factor.
    Hp,
    /// Integers of 32 bits, each vector with a factor: seven bits more than single precision for numbers of one size.
    I32,
    /// Integers of 16 bits, each vector with a factor: four bits more than half precision for numbers of one size.
    I16,
}

impl Storage {
    /// Every storage.
    pub const ALL: [Self; 5] = [Self::Working, Self::Sp, Self::Hp, Self::I32, Self::I16];

    /// The name in options and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Working => "working",
            Self::Sp => "sp",
            Self::Hp => "hp",
            Self::I32 => "i32",
            Self::I16 => "i16",
        }
    }

    /// Bytes of a real number; none for those of the working precision.
    pub fn bytes(self) -> Option<usize> {
        match self {
            Self::Working => None,
            Self::Sp | Self::I32 => Some(4),
            Self::Hp | Self::I16 => Some(2),
        }
    }
}

/// Vectors of one shape, side by side in memory, each stored as codes and a factor a column.
///
/// Solvers keep the basis of a space in it: products with all vectors are one pass over memory.
#[derive(Debug)]
pub struct Packed<T: Scalar> {
    pub(crate) executor: Executor,
    pub(crate) rows: usize,
    pub(crate) cols: usize,
    pub(crate) storage: Storage,
    /// Vectors there may be.
    pub(crate) most: usize,
    pub(crate) segments: Vec<Segment<T>>,
    /// What the codes of each vector and column are to be multiplied with.
    pub(crate) scales: Buffer<T::Arith>,
    /// A number for each vector and column, products or coefficients, and then one norm a column.
    pub(crate) numbers: Buffer<T::Arith>,
    /// The largest number of each column of the vector that was measured.
    pub(crate) largest: Buffer<T::Arith>,
    /// Numbers of the host times scales.
    pub(crate) coefficients: Vec<T::Arith>,
    /// Sums of parts on devices.
    pub(crate) partials: Option<Buffer<T::Arith>>,
    pub(crate) pipeline: Option<Pipeline<T>>,
}

/// What a pipelined orthogonalisation needs besides.
#[derive(Debug)]
pub(crate) struct Pipeline<T: Scalar> {
    /// Products with the vectors, and then one norm a column, on the host.
    pub(crate) products: Vec<T::Arith>,
    /// The same on their way to other ranks.
    pub(crate) doubles: Vec<f64>,
    /// What is taken of each vector for the next one, and its factor; then what is taken for the one after, and the multiple of the next.
    pub(crate) steps: Buffer<T::Arith>,
    /// The block by which they travel to a device.
    pub(crate) sent: Option<Readback>,
}

/// Some of the vectors.
#[derive(Debug)]
pub(crate) struct Segment<T> {
    /// How many there is room for.
    pub(crate) room: usize,
    pub(crate) codes: Codes<T>,
}

#[derive(Debug)]
pub(crate) enum Codes<T> {
    Working(Buffer<T>),
    F32(Buffer<f32>),
    C32(Buffer<c32>),
    F16(Buffer<f16>),
    I32(Buffer<i32>),
    I16(Buffer<i16>),
}

/// Calls a function with the buffer of codes, whatever their type is.
macro_rules! with_codes {
    ($codes:expr, $buffer:ident => $work:expr) => {
        match $codes {
            $crate::arrays::Codes::Working($buffer) => $work,
            $crate::arrays::Codes::F32($buffer) => $work,
            $crate::arrays::Codes::C32($buffer) => $work,
            $crate::arrays::Codes::F16($buffer) => $work,
            $crate::arrays::Codes::I32($buffer) => $work,
            $crate::arrays::Codes::I16($buffer) => $work,
        }
    };
}
pub(crate) use with_codes;

/// Whether vectors of `T` may be stored in `S`: the same type, or a narrower one of the same kind.
pub(crate) const fn stores<S: Code, T: Scalar>() -> bool {
    let complex = S::NAME.as_bytes()[0] == b'c';
    size_of::<S>() <= size_of::<T>() && complex == T::KIND.is_complex()
}

/// Vectors of the first segment; few solves need more.
const FIRST: usize = 16;

impl<T: Scalar> Packed<T> {
    /// No vectors, and room for none.
    pub fn empty(executor: &Executor, rows: usize, cols: usize) -> Result<Self> {
        let numbers = |count| Buffer::filled(executor, count, T::Arith::default());
        Ok(Self {
            executor: executor.clone(),
            rows,
            cols,
            storage: Storage::Working,
            most: 0,
            segments: Vec::new(),
            scales: numbers(0)?,
            numbers: numbers(cols)?,
            largest: numbers(cols)?,
            coefficients: Vec::new(),
            partials: None,
            pipeline: None,
        })
    }

    /// Makes it ready for at most `most` vectors in a storage; those that were there are forgotten.
    ///
    /// # Errors
    /// For complex numbers in a storage that has none, and when memory is short.
    pub fn prepare(&mut self, storage: Storage, most: usize) -> Result<()> {
        // Never wider than the vectors themselves.
        let storage = match storage.bytes() {
            Some(bytes) if bytes * if T::KIND.is_complex() { 2 } else { 1 } < size_of::<T>() => {
                storage
            }
            _ => Storage::Working,
        };
        if T::KIND.is_complex() && !matches!(storage, Storage::Working | Storage::Sp) {
            let component = format!("a basis in {}", storage.name());
            return Err(Error::unsupported(
                component,
                "complex numbers; sp has them",
            ));
        }
        if storage != self.storage {
            self.segments.clear();
        }
        self.storage = storage;
        if most > self.most {
            let count = most * self.cols;
            self.scales = Buffer::filled(&self.executor, count, T::Arith::default())?;
            self.numbers = Buffer::filled(&self.executor, count + self.cols, T::Arith::default())?;
            self.coefficients = vec![T::Arith::default(); count];
            self.partials = None;
            self.pipeline = None;
            self.segments.clear();
            self.most = most;
        }
        self.reserve(0)
    }

    /// What a pipelined orthogonalisation needs, made when it is asked for.
    pub(crate) fn pipeline(&mut self) -> &mut Pipeline<T> {
        let numbers = (self.most + 1) * self.cols;
        self.pipeline.get_or_insert_with(|| Pipeline {
            products: vec![T::Arith::default(); numbers],
            doubles: Vec::with_capacity(2 * numbers + 2),
            steps: Buffer::from_vec(&self.executor, vec![T::Arith::default(); 2 * numbers]),
            sent: None,
        })
    }

    /// Where it lives.
    pub fn executor(&self) -> &Executor {
        &self.executor
    }

    /// Codes from one vector to the next: a multiple of what is loaded together.
    pub(crate) fn stride(&self) -> usize {
        (self.rows * self.cols).next_multiple_of(8)
    }

    /// Makes room for a vector. Segments are made when they are needed, each three times as large as all before.
    pub(crate) fn reserve(&mut self, index: usize) -> Result<()> {
        let mut all: usize = self.segments.iter().map(|segment| segment.room).sum();
        while all <= index {
            let room = FIRST.max(3 * all).min(self.most - all);
            let codes = self.allocate(room * self.stride())?;
            self.segments.push(Segment { room, codes });
            all += room;
        }
        Ok(())
    }

    fn allocate(&self, len: usize) -> Result<Codes<T>> {
        let at = &self.executor;
        Ok(match self.storage {
            Storage::Working => Codes::Working(Buffer::filled(at, len, T::default())?),
            Storage::Sp if T::KIND.is_complex() => {
                Codes::C32(Buffer::filled(at, len, c32::default())?)
            }
            Storage::Sp => Codes::F32(Buffer::filled(at, len, 0.0)?),
            Storage::Hp => Codes::F16(Buffer::filled(at, len, f16::default())?),
            Storage::I32 => Codes::I32(Buffer::filled(at, len, 0)?),
            Storage::I16 => Codes::I16(Buffer::filled(at, len, 0)?),
        })
    }
}

/// The segment with room for a vector, and the place of its first one.
pub(crate) fn segment_of<T>(segments: &mut [Segment<T>], index: usize) -> (&mut Segment<T>, usize) {
    let mut first = 0;
    for segment in segments {
        if index < first + segment.room {
            return (segment, first);
        }
        first += segment.room;
    }
    unreachable!("there is room for the vector")
}

/// The segments that hold the first `count` vectors, with the place of the first vector of each and how many count.
pub(crate) fn filled<T>(
    segments: &[Segment<T>],
    count: usize,
) -> impl Iterator<Item = (&Segment<T>, usize, usize)> {
    let mut first = 0;
    segments.iter().map_while(move |segment| {
        let here = segment.room.min(count.saturating_sub(first));
        let item = (segment, first, here);
        first += segment.room;
        (here > 0).then_some(item)
    })
}
