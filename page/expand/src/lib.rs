//! Undoes what the model is packed with in the page: LZMA, which no browser undoes itself.
//!
//! The page writes what is packed into the memory that [`room`] makes, calls [`expand`], and reads
//! what it was from [`expanded`].

#![deny(unsafe_code)]

use std::cell::RefCell;
use std::io::Read as _;

use lzma_rust2::LzmaReader;

/// Memory that the packed may ask for, in KiB.
const MEMORY: u32 = 128 << 10;

thread_local! {
    /// What is packed, and then what it was.
    static BYTES: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Makes room for that many bytes, and says where.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn room(length: usize) -> *mut u8 {
    BYTES.with_borrow_mut(|bytes| {
        bytes.clear();
        bytes.resize(length, 0);
        bytes.as_mut_ptr()
    })
}

/// Expands them, and says to how many; to none where they are damaged.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn expand() -> usize {
    let packed = BYTES.take();
    let mut bytes = Vec::new();
    let read = LzmaReader::new_mem_limit(packed.as_slice(), MEMORY, None)
        .and_then(|mut reader| reader.read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    let length = bytes.len();
    BYTES.set(bytes);
    length
}

/// Where they are, until there is room for others.
#[expect(unsafe_code, reason = "the page calls it by its name")]
#[unsafe(no_mangle)]
pub extern "C" fn expanded() -> *const u8 {
    BYTES.with_borrow(|bytes| bytes.as_ptr())
}
