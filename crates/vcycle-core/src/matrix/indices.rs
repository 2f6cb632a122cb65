//! Conversion of indices between 32 and 64 bits.

use crate::executor::Element;
use crate::operations::entries;
use crate::prelude::*;

impl Buffer<u32> {
    /// The same numbers in 64 bits, made where they are: row offsets of other libraries.
    pub fn widened(&self) -> Result<Buffer<usize>> {
        match entries::widened(self)? {
            Some(widened) => Ok(widened),
            None => self.mapped(|&index| index as usize),
        }
    }
}

impl Buffer<usize> {
    /// The same numbers in 32 bits, made where they are: columns of other libraries. What does not
    /// fit becomes the largest number, which is no column.
    pub fn narrowed(&self) -> Result<Buffer<u32>> {
        match entries::narrowed(self)? {
            Some(narrowed) => Ok(narrowed),
            None => self.mapped(|&index| u32::try_from(index).unwrap_or(u32::MAX)),
        }
    }
}

impl<T: Element> Buffer<T> {
    fn mapped<S: Element>(&self, map: impl Fn(&T) -> S) -> Result<Buffer<S>> {
        let mapped = self.host()?.iter().map(map).collect();
        Ok(Buffer::from_vec(self.executor(), mapped))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_convert_as_the_host_does() {
        let Some(device) = device() else { return };
        let wide: Vec<usize> = vec![0, 5, u32::MAX as usize - 1, 1 << 32, usize::MAX];
        let [here, there] = [Executor::reference(), device].map(|executor| {
            Buffer::from_vec(&executor, wide.clone())
                .narrowed()
                .unwrap()
        });
        assert_eq!(there.to_vec(), here.to_vec());
        let wide_again = [here, there].map(|narrow| narrow.widened().unwrap().to_vec());
        assert_eq!(wide_again[0], wide_again[1]);
        assert_eq!(wide_again[0][..3], wide[..3]);
    }
}
