//! Products in slices of rows and in slices of blocks, with one column and with many.

use vcycle::executor::Workspace;
use vcycle::linop::{LinOp, Size};
use vcycle::matrix::{Csr, Tiles};
use vcycle::scalar::{Mixes, Scalar, f16};
use vcycle::vector::Vector;

use super::bench::GpuBench;
use super::cusparse::{Cusparse, CusparseReal};
use super::report::{MarkdownReport, cell};
use super::timing::microseconds;
use crate::common::Result;

/// Copies of the operands that take turns are together larger than this: a third of it still flatters.
const ROTATED: usize = 800 << 20;
const MOST_COPIES: usize = 32;

const FULL: [&str; 3] = ["elasticity:60x60x60", "beam:o3,l3", "poisson27:128"];
const SMALL: [&str; 2] = ["elasticity:4x4x4", "poisson27:8"];
const COLUMNS: [usize; 4] = [1, 8, 16, 32];
const FEW_COLUMNS: [usize; 2] = [1, 8];

/// How products are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Rows,
    Blocks(Size),
    /// Blocks, by tensor cores.
    Tensors(Size),
    /// Tiles with bitmaps.
    Mbsr(Tiles),
    /// Blocks of rows of like pattern.
    Grouped,
}

impl Way {
    fn name(self) -> String {
        match self {
            Self::Rows => "rows".to_owned(),
            Self::Blocks(block) => format!("{}x{} blocks", block.rows, block.cols),
            Self::Tensors(block) => format!("{}x{} tensors", block.rows, block.cols),
            Self::Grouped => "csr-grouped".to_owned(),
            Self::Mbsr(Tiles::Dense) => "mbsr".to_owned(),
            Self::Mbsr(Tiles::Packed) => "mbsr-packed".to_owned(),
        }
    }

    fn of<M: Scalar>(self, a: &Csr<M>) -> Result<Csr<M>> {
        Ok(match self {
            Self::Rows => a.on_device_in(None)?,
            Self::Blocks(block) => a.on_device_in(Some(block))?,
            Self::Tensors(block) => a.for_tensor_cores(block)?,
            Self::Mbsr(tiles) => a.in_tiles(tiles)?,
            Self::Grouped => a.grouped()?,
        })
    }
}

/// `3x6`: rows and columns of a block.
fn parse_block(text: &str) -> std::result::Result<Size, String> {
    let wrong = || format!("`{text}` is no block such as 3x3, of at most 6 rows and columns");
    let (rows, cols) = text.split_once('x').ok_or_else(wrong)?;
    let number = |text: &str| text.parse().ok().filter(|size| (1..=6).contains(size));
    match (number(rows), number(cols)) {
        (Some(rows), Some(cols)) => Ok(Size::new(rows, cols)),
        _ => Err(wrong()),
    }
}

/// What is measured beside or in place of the usual.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct BlockArgs {
    /// Blocks such as 4x4 that products are measured in beside those that the device chooses
    #[arg(long, value_delimiter = ',', value_name = "BLOCK,...", value_parser = parse_block)]
    blocks: Vec<Size>,
    /// Multiply blocks with 8, 16 and 32 columns by tensor cores, too
    #[arg(long)]
    tensors: bool,
    /// Multiply in tiles of 4 by 4 with bitmaps, dense and packed, too
    #[arg(long)]
    tiles: bool,
    /// Multiply in blocks of rows with the same columns, wherever these stand, too
    #[arg(long)]
    grouped: bool,
    /// Problems of products in blocks, in place of the usual ones
    #[arg(long, value_delimiter = ' ', value_name = "PROBLEM")]
    block_problems: Vec<String>,
    /// Columns of vectors that blocks are multiplied with, in place of 1, 8, 16 and 32
    #[arg(long, value_delimiter = ',', value_name = "COLUMNS,...")]
    block_columns: Vec<usize>,
}

/// What was asked for, or the usual.
fn or_usual<'a, T: Clone>(asked: &'a [T], usual: &'a [T]) -> &'a [T] {
    if asked.is_empty() { usual } else { asked }
}

/// Measures all problems in all ways.
pub(super) fn run(bench: &GpuBench, asked: &BlockArgs, report: &mut MarkdownReport) -> Result<()> {
    report.add("## Products in blocks")?;
    let head = [
        "matrix",
        "values",
        "vectors",
        "columns",
        "stored in",
        "chosen",
        "µs",
        "x rows",
        "cuSPARSE µs",
        "x cuSPARSE",
    ];
    report.begin_table(&head)?;
    let mut notes = Vec::new();
    let (names, columns) = match bench.small {
        true => (&SMALL[..], &FEW_COLUMNS[..]),
        false => (&FULL[..], &COLUMNS[..]),
    };
    let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
    let columns = or_usual(&asked.block_columns, columns);
    for name in or_usual(&asked.block_problems, &names) {
        eprintln!("products in blocks with {name}");
        let a = &bench.problems.get(name)?.matrix;
        let problem = BlockProblem {
            bench,
            name,
            a,
            asked,
        };
        for &cols in columns {
            problem.measure::<f64, f64, f64>(cols, report)?;
            problem.measure::<f32, f32, f32>(cols, report)?;
            problem.measure::<f16, f32, f16>(cols, report)?;
            if cols > 1 {
                problem.measure::<f16, f16, f16>(cols, report)?;
            }
        }
    }
    report.add("")?;
    if let Err(error) = Cusparse::load(&bench.device) {
        notes.push(format!("cuSPARSE was not measured: {error}."));
    }
    notes.push(format!(
        "Operands take turns through {} MB; medians of device time, recorded launches. cuSPARSE: the best of its default and CUSPARSE_SPMV_CSR_ALG2, \
         for several columns of its default and CUSPARSE_SPMM_CSR_ALG2 on columns side by side and its default on columns one after the other; in f16 its vectors are f16, too.",
        ROTATED >> 20
    ));
    report.add(notes.join("\n"))
}

/// Rows first, then what the device chooses for so many columns, then what was asked for; each once, with whether it is chosen.
fn ways<M: Scalar>(
    bench: &GpuBench,
    a: &Csr<M>,
    asked: &BlockArgs,
    cols: usize,
) -> Result<Vec<(Way, bool)>> {
    let a = a.copy_to(&bench.executor)?;
    let chosen = a.device_block_for(cols)?;
    let mut ways = vec![(Way::Rows, chosen.is_none())];
    ways.extend(chosen.map(|block| (Way::Blocks(block), true)));
    for &block in asked.blocks.iter().filter(|&&block| Some(block) != chosen) {
        let way = Way::Blocks(block);
        if way.of(&a)?.device_block()? == Some(block) {
            ways.push((way, false));
        }
    }
    if asked.tiles {
        let both = [Tiles::Dense, Tiles::Packed].map(Way::Mbsr);
        ways.extend(both.map(|way| (way, false)));
    }
    if asked.grouped && Way::Grouped.of(&a)?.device_block_for(cols)?.is_some() {
        ways.push((Way::Grouped, false));
    }
    if asked.tensors && cols.is_multiple_of(8) {
        let by_tensors = ways.iter().filter_map(|&(way, _)| match way {
            Way::Blocks(block) if block.rows.max(block.cols) <= 4 => Some(Way::Tensors(block)),
            _ => None,
        });
        let by_tensors: Vec<Way> = by_tensors.collect();
        ways.extend(by_tensors.into_iter().map(|way| (way, false)));
    }
    Ok(ways)
}

struct BlockProblem<'b> {
    bench: &'b GpuBench,
    name: &'b str,
    a: &'b Csr<f64>,
    asked: &'b BlockArgs,
}

impl BlockProblem<'_> {
    /// All ways with one number of columns, values of `M` and vectors of `V`, beside cuSPARSE with values and vectors of `P`. Of several
    /// columns all ways are measured, too.
    fn measure<M, V, P>(&self, cols: usize, report: &mut MarkdownReport) -> Result<()>
    where
        M: Mixes<V, V>,
        V: Scalar,
        P: CusparseReal,
    {
        let narrow = self.a.convert::<M>()?;
        let peer = self.peer::<P>(cols)?;
        let mut rows: Option<(f64, Vec<V>)> = None;
        for (way, chosen) in ways(self.bench, &narrow, self.asked, cols)? {
            let (time, product) = self.ours::<M, V>(&narrow, way, cols)?;
            let first = rows.get_or_insert((time, product.clone()));
            same(&product, &first.1)?;
            report.row(&[
                self.name.to_owned(),
                M::KIND.name().to_owned(),
                V::KIND.name().to_owned(),
                cols.to_string(),
                way.name(),
                if chosen { "yes" } else { "" }.to_owned(),
                format!("{time:.1}"),
                format!("{:.2}", first.0 / time),
                cell(peer, 1),
                cell(peer.map(|peer| peer / time), 2),
            ])?;
        }
        Ok(())
    }

    fn ours<M: Mixes<V, V>, V: Scalar>(
        &self,
        a: &Csr<M>,
        way: Way,
        cols: usize,
    ) -> Result<(f64, Vec<V>)> {
        let executor = &self.bench.executor;
        let there = way.of(&a.copy_to(executor)?)?;
        let x = inputs::<V>(a.size().cols, cols)?;
        let mut operands = Vec::new();
        for _ in 0..self.copies::<M, V>(cols) {
            // Each places its values for itself.
            operands.push((
                Csr::of_buffers(there.pattern(), there.values_buffer().clone()),
                x.copy_to(executor)?,
                Vector::<V>::zeros(executor, a.size().rows, cols)?,
            ));
        }
        let (ws, count) = (Workspace::new(), operands.len());
        let mut round = || {
            let mut products = operands.iter_mut();
            Ok(products.try_for_each(|(a, x, y)| a.apply(x, y, &ws))?)
        };
        let time = microseconds(&self.bench.device, count, &mut round)?;
        Ok((time, operands.swap_remove(0).2.to_vec()))
    }

    /// The same product by cuSPARSE, where there is one.
    fn peer<P: CusparseReal>(&self, cols: usize) -> Result<Option<f64>> {
        let Ok(cusparse) = Cusparse::load(&self.bench.device) else {
            return Ok(None);
        };
        let a = self.a.convert::<P>()?;
        let x = inputs::<P>(a.size().cols, cols)?;
        let copies = self.copies::<P, P>(cols);
        let time = match cols {
            1 => cusparse.best(&a, x.host()?, copies)?.0,
            _ => cusparse.best_columns(&a, x.host()?, cols, copies)?,
        };
        Ok(Some(time))
    }

    /// Operands that take turns; two where times do not count.
    fn copies<M, V>(&self, cols: usize) -> usize {
        match self.bench.small {
            true => 2,
            false => copies::<M, V>(self.a, cols),
        }
    }
}

fn copies<M, V>(a: &Csr<f64>, cols: usize) -> usize {
    let vectors = (a.size().rows + a.size().cols) * cols * size_of::<V>();
    let bytes = a.nonzeros() * size_of::<M>() + vectors;
    ROTATED.div_ceil(bytes.max(1)).clamp(1, MOST_COPIES)
}

/// What matrices are multiplied with.
fn inputs<V: Scalar>(rows: usize, cols: usize) -> Result<Vector<V>> {
    let host = vcycle::executor::Executor::cpu();
    let values = (0..rows * cols).map(|i| V::from_c64((1.0 + (i % 7) as f64 / 8.0).into()));
    Ok(Vector::from_rows(&host, cols, values.collect())?)
}

/// Fails unless both are the same but for rounding, of sums or to the type of the vectors.
fn same<V: Scalar>(found: &[V], expected: &[V]) -> Result<()> {
    let size = |value: &V| value.to_c64().norm();
    let largest = expected.iter().map(size).fold(0.0, f64::max);
    let apart = found.iter().zip(expected);
    let most = apart
        .map(|(found, expected)| (found.to_c64() - expected.to_c64()).norm())
        .fold(0.0, f64::max);
    match most <= largest * V::KIND.roundoff().max(5e-6) * 2.0 {
        true => Ok(()),
        false => Err(format!("products in blocks and in rows are {most:.1e} apart").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vcycle::executor::Executor;

    #[test]
    fn blocks_are_read() {
        assert_eq!(parse_block("3x6").unwrap(), Size::new(3, 6));
        for wrong in ["3", "7x1", "0x2", "axb"] {
            assert!(parse_block(wrong).unwrap_err().contains(wrong));
        }
        assert_eq!(Way::Blocks(Size::square(3)).name(), "3x3 blocks");
    }

    #[test]
    fn operands_take_turns() {
        let a = Csr::<f64>::identity(&Executor::reference(), 10);
        assert_eq!(copies::<f64, f64>(&a, 1), MOST_COPIES);
        assert!(same(&[1.0, 2.0], &[1.0, 2.0]).is_ok());
        assert!(same(&[1.0, 2.0], &[1.0, 2.1]).is_err());
    }
}
