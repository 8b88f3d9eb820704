//! Processors of the process by domains of memory, so that parts of the machine can be made of them.

use crate::processors::allowed_processors;
use std::ops::Range;
use std::path::Path;

/// Numbering of the processors that threads use: those of a domain of memory (NUMA node) follow each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessorLayout {
    /// The system's number of each processor; empty if threads and processors are not one to one.
    pub processors: Vec<usize>,
    /// Positions of each domain, in order and without gaps; a single domain if nothing else is known.
    pub domains: Vec<Range<u32>>,
}

/// Parses a list of numbers and ranges as the system writes it: `0-3,8`.
fn parse_list(text: &str) -> Vec<usize> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.trim().parse::<usize>().ok()?..=last.trim().parse::<usize>().ok()?)
    };
    text.trim().split(',').filter_map(range).flatten().collect()
}

/// Returns the processors of each domain in a folder of the system.
fn domains_in(folder: &Path) -> Vec<Vec<usize>> {
    let numbers = std::fs::read_to_string(folder.join("online")).unwrap_or_default();
    let list = |number| std::fs::read_to_string(folder.join(format!("node{number}/cpulist"))).ok();
    parse_list(&numbers).into_iter().filter_map(list).map(|text| parse_list(&text)).collect()
}

impl ProcessorLayout {
    /// Layout of this many threads on the machine.
    pub fn of_machine(threads: usize) -> ProcessorLayout {
        let domains = domains_in(Path::new("/sys/devices/system/node"));
        ProcessorLayout::new(threads, &allowed_processors(), &domains)
    }

    /// Layout of threads on the processors that the process may use, of which each domain has some.
    fn new(threads: usize, allowed: &[usize], domains: &[Vec<usize>]) -> ProcessorLayout {
        let (mut processors, mut ranges) = (Vec::new(), Vec::new());
        for domain in domains {
            let start = processors.len() as u32;
            processors.extend(allowed.iter().filter(|processor| domain.contains(processor)));
            if processors.len() as u32 > start {
                ranges.push(start..processors.len() as u32);
            }
        }
        if processors.len() == allowed.len() && allowed.len() == threads {
            return ProcessorLayout { processors, domains: ranges };
        }
        let processors = if allowed.len() == threads { allowed.to_vec() } else { Vec::new() };
        ProcessorLayout { processors, domains: std::iter::once(0..threads as u32).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_those_of_the_system() {
        assert_eq!(parse_list("0-3,8,10-11\n"), [0, 1, 2, 3, 8, 10, 11]);
        assert!(parse_list("\n").is_empty() && parse_list("x-3").is_empty());
    }

    #[test]
    fn processors_of_a_domain_follow_each_other() {
        let layout = ProcessorLayout::new(4, &[0, 1, 2, 3], &[vec![0, 2], vec![1, 3], vec![8]]);
        assert_eq!(layout, ProcessorLayout { processors: vec![0, 2, 1, 3], domains: vec![0..2, 2..4] });
        // A domain may be used in part.
        let layout = ProcessorLayout::new(3, &[0, 1, 2], &[vec![0, 2], vec![1, 3]]);
        assert_eq!(layout, ProcessorLayout { processors: vec![0, 2, 1], domains: vec![0..2, 2..3] });
    }

    #[test]
    fn other_numbers_of_threads_have_no_processors() {
        let all = std::iter::once(0..2).collect::<Vec<_>>();
        let layout = ProcessorLayout::new(2, &[0, 1, 2, 3], &[vec![0, 2], vec![1, 3]]);
        assert_eq!(layout, ProcessorLayout { processors: vec![], domains: all.clone() });
        // A processor of no domain.
        let layout = ProcessorLayout::new(2, &[0, 1], &[vec![0]]);
        assert_eq!(layout, ProcessorLayout { processors: vec![0, 1], domains: all });
    }
}
