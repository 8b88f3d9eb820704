//! Classes of launches: launches of one class run by the same code.

/// Launches of about as many work-items, in groups of one size, by about as many threads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct LaunchClass {
    /// Binary logarithm of the number of work-items.
    pub(crate) octave: u8,
    /// Size of groups; zeros where the runtime chooses it.
    pub(crate) local: [u32; 3],
    /// True if groups at the ends are as large as the others.
    pub(crate) is_uniform: bool,
    /// Binary logarithm of the number of threads.
    pub(crate) threads: u8,
}

fn octave(number: u64) -> u8 {
    number.max(1).ilog2() as u8
}

impl LaunchClass {
    pub(crate) fn new(items: u64, local: [u32; 3], is_uniform: bool, threads: usize) -> LaunchClass {
        LaunchClass { octave: octave(items), local, is_uniform, threads: octave(threads as u64) }
    }

    /// Difference between classes, to find the nearest.
    pub(crate) fn distance(&self, other: &LaunchClass) -> u32 {
        let local = u32::from(self.local != other.local) * 64;
        let ends = u32::from(self.is_uniform != other.is_uniform) * 32;
        let threads = u32::from(self.threads.abs_diff(other.threads)) * 3;
        local + ends + threads + u32::from(self.octave.abs_diff(other.octave))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_an_octave_are_one_class() {
        let class = |items, threads| LaunchClass::new(items, [64, 1, 1], true, threads);
        assert_eq!(class(1024, 2), class(2047, 3));
        assert_ne!(class(1024, 2), class(2048, 2));
        assert!(class(1024, 2).distance(&class(4096, 2)) < class(1024, 2).distance(&class(1024, 4)));
        assert_eq!(class(0, 0), class(1, 1));
    }
}
