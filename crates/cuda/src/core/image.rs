//! Module images: PTX, or a fat binary that contains PTX.
//!
//! ```text
//!     wrapper   0x466243b1, version, address of the container, …       what nvcc puts into programs
//!               version 2 (`-rdc=true`): also the address of a list of containers, one of each translation unit, 0 at its end
//!     container 0xba55ed50, version, bytes of its head, bytes after it
//!     entry     kind (1 is PTX), version, bytes of its head, bytes after it, …, flags (compressed?), …
//! ```

use std::ffi::CStr;
use std::io::Read as _;

/// Magic numbers of a wrapper, a container, an object file.
const WRAPPER: u32 = 0x4662_43b1;
const CONTAINER: u32 = 0xba55_ed50;
const OBJECT: [u8; 4] = *b"\x7fELF";

/// Version of a wrapper with a list of translation units.
const LINKED: u32 = 2;
const OBJECT_ONLY: &str = "GPU machine code without PTX\nhelp: compile with PTX (`-arch=compute_75`); with Numba, uninstall `nvidia-nvjitlink-cu12`, so that it links by the driver";
const NO_PTX: &str = "fat binary with GPU machine code only\nhelp: compile with PTX (`-arch=compute_75`)";

const KIND_PTX: u16 = 1;
const IS_LZ4: u64 = 0x2000;
const IS_ZSTD: u64 = 0x8000;

/// Maximum unpacked size of an entry in bytes.
const MOST_BYTES: u64 = 1 << 30;

/// Error of loading an image.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ImageError {
    /// Not a valid image.
    Broken(&'static str),
    /// Image with machine code only.
    NoPtx(&'static str),
    /// Translation units that cannot be linked.
    Unlinkable(String),
}

/// PTX text of an image, or the error.
pub type PtxText = Result<String, ImageError>;

/// Extracts the PTX at an address of a zero-terminated text, an object file, a container or a wrapper.
///
/// # Safety
/// The address points to one of these, or to data that starts like none of them.
pub unsafe fn ptx_at(image: *const u8) -> PtxText {
    // SAFETY: the caller's promise; a text has at least its zero byte, and each byte is looked at only if those before fit.
    let starts = |mark: [u8; 4]| (0..4).all(|at| unsafe { image.add(at).read() } == mark[at]);
    if starts(OBJECT) {
        return Err(ImageError::NoPtx(OBJECT_ONLY));
    }
    if starts(WRAPPER.to_le_bytes()) {
        // SAFETY: the caller's promise.
        if unsafe { image.add(4).cast::<u32>().read_unaligned() } == LINKED {
            // SAFETY: the caller's promise.
            return unsafe { ptx_of_units_at(image) };
        }
        // SAFETY: a wrapper has the address of its container after mark and version.
        let inner = unsafe { image.add(8).cast::<*const u8>().read_unaligned() };
        if inner.is_null() {
            return Err(ImageError::Broken("invalid pointer in the wrapper"));
        }
        // SAFETY: the caller's promise.
        return unsafe { ptx_in_container_at(inner) };
    }
    if starts(CONTAINER.to_le_bytes()) {
        // SAFETY: the caller's promise.
        return unsafe { ptx_in_container_at(image) };
    }
    // SAFETY: the caller's promise: it is a text.
    Ok(unsafe { CStr::from_ptr(image.cast()) }.to_string_lossy().into_owned())
}

/// Links the PTX of the translation units of a wrapper of version 2. Its own container holds what `nvlink` made of them: machine code.
///
/// # Safety
/// As for [`ptx_at`].
unsafe fn ptx_of_units_at(wrapper: *const u8) -> PtxText {
    // SAFETY: a wrapper of this version has the address of the list after that of its container.
    let list = unsafe { wrapper.add(16).cast::<*const *const u8>().read_unaligned() };
    if list.is_null() {
        return Err(ImageError::Broken("invalid list of translation units"));
    }
    let (mut texts, mut reason) = (Vec::new(), ImageError::NoPtx(NO_PTX));
    for at in 0.. {
        // SAFETY: the list ends with a null pointer.
        let unit = unsafe { list.add(at).read_unaligned() };
        if unit.is_null() {
            break;
        }
        // SAFETY: the caller's promise.
        match unsafe { ptx_in_container_at(unit) } {
            Ok(text) if is_device_runtime(&text) => {}
            Ok(text) => texts.push(text),
            // The others may not need it; a function that they miss is reported by name.
            Err(error @ ImageError::NoPtx(_)) => reason = error,
            Err(error) => return Err(error),
        }
    }
    if texts.is_empty() { Err(reason) } else { link(&texts) }
}

/// True for the translation unit of `libcudadevrt.a`, which `nvcc -rdc=true` adds: the driver has a device library of its own.
fn is_device_runtime(text: &str) -> bool {
    text.contains("__cuda_syscall_CGS_sync")
}

/// Links PTX texts.
pub fn link(texts: &[String]) -> PtxText {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    heddle_ptx::link(&texts).map_err(|diagnostics| {
        let lines: Vec<String> = diagnostics.iter().take(20).map(ToString::to_string).collect();
        ImageError::Unlinkable(lines.join("\n"))
    })
}

/// # Safety
/// As for [`ptx_at`].
unsafe fn ptx_in_container_at(container: *const u8) -> PtxText {
    // SAFETY: a container has a head of 16 bytes, which tells how much is after it.
    let bytes = unsafe {
        let head = std::slice::from_raw_parts(container, 16);
        if word(head, 0) != Some(CONTAINER) {
            return Err(ImageError::Broken("the wrapper points to no container"));
        }
        let size = u64::from(half(head, 6).unwrap_or(0)).saturating_add(long(head, 8).unwrap_or(0));
        match usize::try_from(size) {
            Ok(size) if size as u64 <= MOST_BYTES => std::slice::from_raw_parts(container, size),
            _ => return Err(ImageError::Broken("the container is too large")),
        }
    };
    ptx_in_container(bytes)
}

/// Extracts the PTX of an image of known length.
pub fn ptx_of(bytes: &[u8]) -> PtxText {
    if bytes.starts_with(&OBJECT) {
        return Err(ImageError::NoPtx(OBJECT_ONLY));
    }
    if bytes.starts_with(&CONTAINER.to_le_bytes()) {
        return ptx_in_container(bytes);
    }
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    Ok(String::from_utf8_lossy(&bytes[..end]).into_owned())
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

/// Returns the PTX of the last entry with PTX: the newest architecture comes last.
fn ptx_in_container(bytes: &[u8]) -> PtxText {
    const CUT: ImageError = ImageError::Broken("truncated container");
    let mut at = usize::from(half(bytes, 6).ok_or(CUT)?);
    let mut found = Err(ImageError::NoPtx(NO_PTX));
    while at + 24 <= bytes.len() {
        let entry = &bytes[at..];
        let kind = half(entry, 0).ok_or(CUT)?;
        let head = word(entry, 4).ok_or(CUT)? as usize;
        let padded = usize::try_from(long(entry, 8).ok_or(CUT)?).map_err(|_| CUT)?;
        let size = head.checked_add(padded).filter(|&size| size >= 24).ok_or(CUT)?;
        if kind == KIND_PTX {
            found = ptx_of_entry(entry, head, padded);
        }
        at = at.checked_add(size).ok_or(CUT)?;
    }
    found
}

fn ptx_of_entry(entry: &[u8], head: usize, padded: usize) -> PtxText {
    const CUT: ImageError = ImageError::Broken("truncated container entry");
    let packed = entry.get(head..head.checked_add(padded).ok_or(CUT)?).ok_or(CUT)?;
    let flags = if head >= 0x30 { long(entry, 0x28).ok_or(CUT)? } else { 0 };
    if flags & (IS_LZ4 | IS_ZSTD) == 0 {
        return ptx_of(packed);
    }
    let length = word(entry, 0x10).ok_or(CUT)? as usize;
    let unpacked = if head >= 0x40 { long(entry, 0x38).ok_or(CUT)? } else { 0 };
    if unpacked > MOST_BYTES {
        return Err(ImageError::Broken("container entry too large"));
    }
    let packed = packed.get(..length).ok_or(CUT)?;
    let text = if flags & IS_ZSTD != 0 { unpack_zstd(packed) } else { unpack(packed, unpacked as usize) };
    ptx_of(&text.ok_or(ImageError::Broken("container entry does not decompress"))?)
}

/// Unpacks a frame of zstd.
fn unpack_zstd(mut packed: &[u8]) -> Option<Vec<u8>> {
    let mut text = Vec::new();
    let frame = ruzstd::decoding::StreamingDecoder::new(&mut packed).ok()?;
    frame.take(MOST_BYTES + 1).read_to_end(&mut text).ok()?;
    (text.len() as u64 <= MOST_BYTES).then_some(text)
}

/// Unpacks a block of LZ4: literals and copies of what is there already.
fn unpack(packed: &[u8], most: usize) -> Option<Vec<u8>> {
    let mut out: Vec<u8> = Vec::new();
    let mut rest = packed.iter();
    // A count of 15 goes on in the next bytes.
    let count = |first: u8, rest: &mut std::slice::Iter<'_, u8>| {
        let mut count = usize::from(first);
        if first == 15 {
            loop {
                let more = *rest.next()?;
                count += usize::from(more);
                if more != 255 {
                    break;
                }
            }
        }
        Some(count)
    };
    while let Some(&token) = rest.next() {
        let literals = count(token >> 4, &mut rest)?;
        let (own, after) = rest.as_slice().split_at_checked(literals)?;
        out.extend_from_slice(own);
        rest = after.iter();
        // The last sequence has literals only.
        let Some(&low) = rest.next() else { break };
        let back = usize::from(low) | usize::from(*rest.next()?) << 8;
        let length = count(token & 15, &mut rest)? + 4;
        let start = out.len().checked_sub(back).filter(|_| back > 0)?;
        if out.len() + length > most {
            return None;
        }
        for at in start..start + length {
            out.push(out[at]);
        }
    }
    (out.len() <= most).then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{CONTAINER, IS_LZ4, IS_ZSTD, ImageError, ptx_of, unpack};

    const TEXT: &[u8] = b".version 8.0\n.version 8.0\n.version 8.0\n.target sm_80\n";

    /// A container with an entry of each kind and payload.
    fn container(entries: &[(u16, u64, &[u8])]) -> Vec<u8> {
        let mut body = Vec::new();
        for &(kind, flags, payload) in entries {
            let padded = payload.len().next_multiple_of(8);
            let mut head = vec![0u8; 64];
            head[..2].copy_from_slice(&kind.to_le_bytes());
            head[4..8].copy_from_slice(&64u32.to_le_bytes());
            head[8..16].copy_from_slice(&(padded as u64).to_le_bytes());
            head[16..20].copy_from_slice(&(payload.len() as u32).to_le_bytes());
            head[0x28..0x30].copy_from_slice(&flags.to_le_bytes());
            head[0x38..].copy_from_slice(&(TEXT.len() as u64).to_le_bytes());
            body.extend(head);
            body.extend(payload);
            body.resize(body.len() + padded - payload.len(), 0);
        }
        let mut bytes = CONTAINER.to_le_bytes().to_vec();
        bytes.extend([1, 0, 16, 0]);
        bytes.extend((body.len() as u64).to_le_bytes());
        bytes.extend(body);
        bytes
    }

    /// TEXT, packed: its first line as it is, the next two as copies of it, the rest as it is.
    fn packed() -> Vec<u8> {
        let mut packed = vec![0xdf];
        packed.extend(&TEXT[..13]);
        packed.extend([13, 0, 26 - 4 - 15]);
        packed.push(0xe0);
        packed.extend(&TEXT[39..]);
        packed
    }

    /// TEXT in a frame of zstd.
    const ZSTD: [u8; 41] = [
        0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x35, 0x05, 0x01, 0x00, 0xd0, 0x2e, 0x76, 0x65, 0x72, 0x73, 0x69, 0x6f,
        0x6e, 0x20, 0x38, 0x2e, 0x30, 0x0a, 0x74, 0x61, 0x72, 0x67, 0x65, 0x74, 0x20, 0x73, 0x6d, 0x5f, 0x38,
        0x30, 0x0a, 0x01, 0x00, 0x10, 0xce, 0x2f,
    ];

    #[test]
    fn ptx_is_found_in_containers() {
        let text = String::from_utf8_lossy(TEXT).into_owned();
        assert_eq!(ptx_of(&container(&[(2, 0, b"\x7fELF"), (1, 0, TEXT)])), Ok(text.clone()));
        assert_eq!(unpack(&packed(), 1000).as_deref(), Some(TEXT));
        assert_eq!(ptx_of(&container(&[(1, IS_LZ4, &packed())])), Ok(text.clone()));
        assert!(matches!(ptx_of(&container(&[(2, 0, b"\x7fELF")])), Err(ImageError::NoPtx(_))));
        assert_eq!(ptx_of(&container(&[(1, IS_ZSTD, &ZSTD)])), Ok(text));
        assert!(matches!(ptx_of(&container(&[(1, IS_ZSTD, b"abc")])), Err(ImageError::Broken(_))));
        assert!(matches!(ptx_of(b"\x7fELF"), Err(ImageError::NoPtx(_))));
    }

    #[test]
    fn cut_and_bent_containers_are_refused() {
        let whole = container(&[(1, IS_LZ4, &packed()), (1, IS_ZSTD, &ZSTD), (1, 0, TEXT)]);
        for end in 4..whole.len() {
            let _ = ptx_of(&whole[..end]);
        }
        for at in 4..whole.len() {
            for value in [0, 1, 0x7f, 0x80, 0xff] {
                let mut bent = whole.clone();
                bent[at] = value;
                let _ = ptx_of(&bent);
            }
        }
    }
}
