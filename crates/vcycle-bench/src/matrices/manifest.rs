//! What a folder of matrices tells of them.

use std::path::Path;

use crate::common::Result;

/// A line of the manifest.
pub(super) struct ManifestEntry {
    pub name: String,
    /// What is known of its eigenvalues.
    pub definite: String,
}

/// All matrices of a folder.
pub(super) fn manifest(folder: &Path) -> Result<Vec<ManifestEntry>> {
    let text = std::fs::read_to_string(folder.join("MANIFEST.tsv"))?;
    let fields = text.lines().skip(1).map(|line| line.split('\t'));
    let entry = |mut fields: std::str::Split<'_, char>| {
        Some(ManifestEntry {
            name: fields.next()?.to_owned(),
            definite: fields.nth(4)?.to_owned(),
        })
    };
    Ok(fields.filter_map(entry).collect())
}

/// The names the manifest calls SPD.
pub(super) fn positive_definite(folder: &Path) -> Result<Vec<String>> {
    let definite = |entry: ManifestEntry| entry.definite.starts_with("SPD").then_some(entry.name);
    Ok(manifest(folder)?.into_iter().filter_map(definite).collect())
}
