//! Programs of compiled functions, each in a separate process: crashes and timeouts are outcomes.

use super::target::InstructionSet;
use std::ffi::OsStr;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUNNER: &str = include_str!("runner.c");
/// The most times that a program which dies is started again for the calls that are left.
const MOST_STARTS: usize = 6;
/// The most bytes of an object, and the most objects: as in the runner.
pub(super) const ROOM: usize = 1 << 17;
pub(super) const MOST_OBJECTS: usize = 24;

/// Folder to build and run programs for one target.
#[derive(Debug)]
pub(super) struct Workshop {
    folder: PathBuf,
    target: InstructionSet,
}

/// Memory that a call gets.
#[derive(Clone, Debug)]
pub(super) struct CallObject {
    /// The number of the symbol that it lies at; none lies anywhere.
    pub(super) symbol: Option<u32>,
    pub(super) bytes: Vec<u8>,
}

/// Call of an entry, which takes arguments and writes its results to memory.
#[derive(Clone, Default, Debug)]
pub(super) struct EntryCall {
    pub(super) entry: u32,
    pub(super) args: Vec<u8>,
    /// Positions of object addresses among the arguments.
    pub(super) pointers: Vec<(u32, u32)>,
    pub(super) objects: Vec<CallObject>,
    pub(super) results: usize,
    /// Goes on with the objects of the call before.
    pub(super) keeps: bool,
    /// Is not answered.
    pub(super) is_silent: bool,
}

/// Outcome of a call.
#[derive(Clone, Debug)]
pub(super) enum CallOutcome {
    Done {
        results: Vec<u8>,
        objects: Vec<Vec<u8>>,
        is_damaged: bool,
    },
    /// Not answered, since the call is silent.
    Silent,
    Died(String),
}

/// Runs a command and returns its output; fails if the command does.
fn checked(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    let messages = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        return Ok(messages.into_owned());
    }
    Err(format!("{:?} fails: {}", command.get_program(), messages.trim()))
}

impl Workshop {
    pub(super) fn new(folder: &Path, target: InstructionSet) -> Result<Workshop, String> {
        std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let shop = Workshop { folder: folder.to_path_buf(), target };
        shop.write("runner.c", RUNNER.as_bytes())?;
        shop.clang(["-O1", "-w", "-c", "runner.c", "-o", "runner.o"])?;
        Ok(shop)
    }

    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(super) fn write(&self, name: &str, bytes: &[u8]) -> Result<PathBuf, String> {
        let path = self.folder.join(name);
        std::fs::write(&path, bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(path)
    }

    pub(super) fn clang<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<(), String> {
        self.clang_output(arguments).map(drop)
    }

    /// As `clang`, but returns warnings and remarks.
    pub(super) fn clang_output<S: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = S>,
    ) -> Result<String, String> {
        let mut command = Command::new("clang-22");
        checked(command.current_dir(&self.folder).args(self.target.clang_arguments()).args(arguments))
    }

    /// Links object files with the runner; calls and objects refer to entries and symbols by index into these lists.
    pub(super) fn link(&self, files: &[&str], entries: &[String], symbols: &[String]) -> Result<(), String> {
        let mut text = String::from("typedef void entry(const void *, void *);\n");
        for (number, name) in entries.iter().enumerate() {
            text += &format!("extern entry e{number} __asm__(\"{name}\");\n");
        }
        for (number, name) in symbols.iter().enumerate() {
            text += &format!("extern unsigned char s{number}[] __asm__(\"{name}\");\n");
        }
        text += "entry *const entries[] = {";
        (0..entries.len()).for_each(|number| text += &format!("e{number},"));
        text += "0};\nunsigned char *const symbols[] = {";
        (0..symbols.len()).for_each(|number| text += &format!("s{number},"));
        text += "0};\n";
        self.write("table.c", text.as_bytes())?;
        let own = ["-w", "table.c", "runner.o", "-o", "program"];
        self.clang(own.iter().chain(files).chain(&["-lm"]))
    }

    /// Runs the program that was linked last.
    pub(super) fn run(&self, calls: &[EntryCall]) -> Result<Vec<CallOutcome>, String> {
        let mut outcomes = Vec::with_capacity(calls.len());
        for _ in 0..MOST_STARTS {
            if outcomes.len() < calls.len() {
                self.run_from(calls, &mut outcomes)?;
            }
        }
        outcomes.resize(calls.len(), CallOutcome::Died("not run: too many before it died".into()));
        Ok(outcomes)
    }

    fn run_from(&self, calls: &[EntryCall], outcomes: &mut Vec<CallOutcome>) -> Result<(), String> {
        let rest = &calls[outcomes.len()..];
        let path = self.write("calls", &packed(rest))?;
        let file = File::open(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut command = self.target.command(&self.folder.join("program"));
        let output = command.stdin(file).output().map_err(|error| format!("the runner: {error}"))?;
        let mut answers = &output.stdout[..];
        let mut sizes: Vec<usize> = Vec::new();
        for call in rest {
            if !call.keeps {
                sizes = call.objects.iter().map(|object| object.bytes.len()).collect();
            }
            if call.is_silent {
                outcomes.push(CallOutcome::Silent);
                continue;
            }
            let Some(outcome) = answer(&mut answers, call.results, &sizes) else {
                break;
            };
            outcomes.push(outcome);
        }
        if outcomes.len() == calls.len() && output.status.success() {
            return Ok(());
        }
        // The first call without an answer crashed, or a silent one before it.
        outcomes.push(CallOutcome::Died(format!("died: {}", output.status)));
        while calls.get(outcomes.len()).is_some_and(|call| call.keeps) {
            outcomes.push(CallOutcome::Died("died before".into()));
        }
        outcomes.truncate(calls.len());
        Ok(())
    }
}

fn answer(answers: &mut &[u8], results: usize, sizes: &[usize]) -> Option<CallOutcome> {
    let total = results + sizes.iter().sum::<usize>() + 4;
    let (mut mine, rest) = answers.split_at_checked(total)?;
    *answers = rest;
    let mut take = |size: usize| {
        let (part, behind) = mine.split_at(size);
        mine = behind;
        part.to_vec()
    };
    let results = take(results);
    let objects = sizes.iter().map(|&size| take(size)).collect();
    Some(CallOutcome::Done { results, objects, is_damaged: take(4) != [0; 4] })
}

fn packed(calls: &[EntryCall]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let word = |bytes: &mut Vec<u8>, word: usize| bytes.extend((word as u32).to_le_bytes());
    let padded = |bytes: &mut Vec<u8>, data: &[u8]| {
        bytes.extend(data);
        bytes.resize(bytes.len().next_multiple_of(4), 0);
    };
    word(&mut bytes, calls.len());
    for call in calls {
        word(&mut bytes, call.entry as usize);
        word(&mut bytes, call.args.len());
        word(&mut bytes, call.results);
        word(&mut bytes, call.objects.len());
        word(&mut bytes, call.pointers.len());
        word(&mut bytes, usize::from(call.keeps) | usize::from(call.is_silent) << 1);
        for object in &call.objects {
            word(&mut bytes, object.symbol.map_or(u32::MAX as usize, |symbol| symbol as usize));
            word(&mut bytes, object.bytes.len());
            padded(&mut bytes, &object.bytes);
        }
        for &(at, object) in &call.pointers {
            word(&mut bytes, at as usize);
            word(&mut bytes, object as usize);
        }
        padded(&mut bytes, &call.args);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const FUNCTIONS: &str = "#include <stdint.h>
        typedef struct { uint8_t *bytes; } args;
        void adds(const args *a, uint8_t *r) { r[0] = a->bytes[0] + 1, a->bytes[1] = 9; }
        void before(const args *a, uint8_t *r) { a->bytes[-1] = 0; }
        void after(const args *a, uint8_t *r) { a->bytes[7] = 0; }
        void far(const args *a, uint8_t *r) { a->bytes[20] = 0; }
        void nowhere(const args *a, uint8_t *r) { *(volatile uint8_t *)0 = 0; }";

    fn call(entry: u32, bytes: &[u8]) -> EntryCall {
        let objects = vec![CallObject { symbol: None, bytes: bytes.to_vec() }];
        EntryCall {
            entry,
            args: vec![0; 16],
            pointers: vec![(0, 0)],
            objects,
            results: 1,
            ..EntryCall::default()
        }
    }

    #[test]
    fn results_and_crashes_of_functions_are_reported() {
        let folder = std::env::temp_dir().join(format!("heddle-workshop-{}", std::process::id()));
        let shop = Workshop::new(&folder, InstructionSet::Sse42).expect("a folder and clang");
        shop.write("functions.c", FUNCTIONS.as_bytes()).expect("it is written");
        shop.clang(["-w", "-O1", "-c", "functions.c", "-o", "functions.o"]).expect("it compiles");
        let entries = ["adds", "before", "after", "far", "nowhere"].map(String::from);
        shop.link(&["functions.o"], &entries, &[]).expect("it links");
        let keeps = EntryCall { keeps: true, objects: Vec::new(), ..call(0, &[]) };
        let silent = EntryCall { is_silent: true, ..call(0, &[4, 5]) };
        let calls = [
            call(0, &[1, 2]),
            call(1, &[1]),
            call(2, &[1, 2, 3]),
            call(3, &[1]),
            silent,
            keeps.clone(),
            call(4, &[1]),
            keeps,
            call(0, &[7, 8]),
        ];
        let outcomes = shop.run(&calls).expect("it runs");
        let _ = std::fs::remove_dir_all(&folder);
        let shown: Vec<String> = outcomes
            .iter()
            .map(|outcome| match outcome {
                CallOutcome::Done { results, objects, is_damaged } => {
                    format!("{results:?} {objects:?} {is_damaged}")
                }
                CallOutcome::Silent => "silent".into(),
                CallOutcome::Died(how) => how.clone(),
            })
            .collect();
        assert_eq!(shown[0], "[2] [[1, 9]] false");
        assert_eq!(shown[1], "[0] [[1]] true", "a byte before the object");
        assert_eq!(shown[2], "[0] [[1, 2, 3]] true", "a byte after the object");
        assert!(shown[3].starts_with("died: signal"), "{}: a page after the object", shown[3]);
        assert_eq!(shown[4..6], ["silent", "[5] [[4, 9]] false"]);
        assert!(shown[6].starts_with("died: signal"), "{}", shown[6]);
        assert_eq!(shown[7], "died before");
        assert_eq!(shown[8], "[8] [[7, 9]] false");
    }
}
