//! Pointers that a C caller passes to a driver: null checks, reads and writes, in one place for all interfaces.
//!
//! Only a C caller creates values of these types, as arguments of entries. The call promises that each non-null pointer is valid as
//! the interface's specification requires; every unsafe block here relies on that. Interfaces add methods that turn null pointers
//! into their error codes.

/// Declares the types of pointers that a driver's callers pass: to input, to output, and to zero-terminated text.
#[macro_export]
macro_rules! caller_pointers {
    ($input:ident, $output:ident, $text:ident) => {
        /// Input pointer.
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $input<T>(*const T);

        /// Output pointer.
        #[repr(transparent)]
        #[derive(Debug)]
        pub struct $output<T>(*mut T);

        /// Zero-terminated string.
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug)]
        pub struct $text(*const ::std::ffi::c_char);

        impl<T> Clone for $input<T> {
            fn clone(&self) -> $input<T> {
                *self
            }
        }

        impl<T> Copy for $input<T> {}

        impl<T> Clone for $output<T> {
            fn clone(&self) -> $output<T> {
                *self
            }
        }

        impl<T> Copy for $output<T> {}

        impl<T> $input<T> {
            /// True if the pointer is null.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }
        }

        impl<T: Copy> $input<T> {
            /// Returns the value; none for a null pointer.
            fn value(self) -> Option<T> {
                // SAFETY: the application's promise.
                (!self.0.is_null()).then(|| unsafe { self.0.read_unaligned() })
            }

            /// Returns `count` values; none for a null pointer to some.
            fn values(self, count: usize) -> Option<Vec<T>> {
                let is_there = count == 0 || !self.0.is_null();
                // SAFETY: the application's promise.
                is_there
                    .then(|| (0..count).map(|index| unsafe { self.0.add(index).read_unaligned() }).collect())
            }
        }

        impl $input<::std::ffi::c_void> {
            /// Returns `count` bytes; none for a null pointer.
            fn slice(&self, count: usize) -> Option<&[u8]> {
                if self.0.is_null() || count > isize::MAX as usize {
                    return None;
                }
                // SAFETY: the application's promise, for as long as the entry runs.
                Some(unsafe { ::std::slice::from_raw_parts(self.0.cast(), count) })
            }
        }

        impl<T> $output<T> {
            /// True if the pointer is null.
            pub fn is_null(self) -> bool {
                self.0.is_null()
            }

            /// Writes the value unless the pointer is null.
            pub fn write_if(self, value: T) {
                self.write_at(0, value);
            }

            /// Writes the value at an index unless the pointer is null.
            pub fn write_at(self, index: usize, value: T) {
                if !self.0.is_null() {
                    // SAFETY: the application's promise, for the stated number of elements.
                    unsafe { self.0.add(index).write_unaligned(value) };
                }
            }

            /// Writes bytes unless the pointer is null; the buffer is large enough.
            pub fn write_bytes(self, bytes: &[u8]) {
                if !self.0.is_null() {
                    // SAFETY: the application's promise, for the stated number of elements.
                    unsafe { ::std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.0.cast(), bytes.len()) };
                }
            }
        }

        impl $text {
            /// Returns the string; none for a null pointer.
            fn text(self) -> Option<String> {
                // SAFETY: the application's promise.
                let text = (!self.0.is_null()).then(|| unsafe { ::std::ffi::CStr::from_ptr(self.0) });
                text.map(|text| text.to_string_lossy().into_owned())
            }
        }
    };
}
