//! The two orders of several unknowns a cell: cell by cell outside, unknown by unknown in kernels.
//!
//! Kernels want the numbers of one unknown along a line side by side, solvers and CSR matrices those of
//! one cell.

/// Cells that are done at a time.
const BLOCK: usize = 512;

/// Unknown by unknown, from cell by cell.
pub fn separate<V: Copy>(unknowns: usize, rows: &[V], fields: &mut [V]) {
    match unknowns {
        1 => fields.copy_from_slice(rows),
        2 => separate_cells::<2, V>(rows, fields),
        3 => separate_cells::<3, V>(rows, fields),
        _ => separate_cells::<4, V>(rows, fields),
    }
}

fn separate_cells<const R: usize, V: Copy>(rows: &[V], fields: &mut [V]) {
    let cells = rows.len() / R;
    for (block, rows) in rows.chunks(BLOCK * R).enumerate() {
        for unknown in 0..R {
            let field = &mut fields[unknown * cells + block * BLOCK..][..rows.len() / R];
            let from = rows.chunks_exact(R);
            field
                .iter_mut()
                .zip(from)
                .for_each(|(to, from)| *to = from[unknown]);
        }
    }
}

/// Cell by cell, from unknown by unknown.
pub fn interleave<V: Copy>(unknowns: usize, fields: &[V], rows: &mut [V]) {
    match unknowns {
        1 => rows.copy_from_slice(fields),
        2 => interleave_cells::<2, V>(fields, rows),
        3 => interleave_cells::<3, V>(fields, rows),
        _ => interleave_cells::<4, V>(fields, rows),
    }
}

fn interleave_cells<const R: usize, V: Copy>(fields: &[V], rows: &mut [V]) {
    let cells = rows.len() / R;
    for (block, rows) in rows.chunks_mut(BLOCK * R).enumerate() {
        for unknown in 0..R {
            let field = &fields[unknown * cells + block * BLOCK..][..rows.len() / R];
            let to = rows.chunks_exact_mut(R);
            to.zip(field).for_each(|(to, from)| to[unknown] = *from);
        }
    }
}
