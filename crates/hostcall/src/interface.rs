//! Parts that the C interfaces of all libraries have: statuses, results, entries, and entries that are not supported.

use std::io::Write as _;
use std::sync::{Mutex, PoisonError};

/// Defines a library's error, its result, and the functions `ensure`, `put` and `answer`, from names and from the library's statuses for failures
/// that every library has. It belongs into the module `status` of the library's crate, where entries look for `answer`.
#[macro_export]
macro_rules! library_status {
    (
        $error:ident, $result:ident, no_driver: $no_driver:expr, other_driver: $other:expr, driver_failed: $failed:expr,
        panicked: $panicked:expr, null: $null:expr $(,)?
    ) => {
        /// Status other than success.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        pub struct $error(pub i32);

        /// Result of a call.
        pub type $result<T> = Result<T, $error>;

        impl From<$crate::HostcallError> for $error {
            fn from(error: $crate::HostcallError) -> $error {
                $error(match error {
                    $crate::HostcallError::NoDriver => $no_driver,
                    $crate::HostcallError::OtherDriver => $other,
                    $crate::HostcallError::Driver(_) => $failed,
                })
            }
        }

        /// Returns an error with this status unless something holds.
        pub fn ensure(holds: bool, status: i32) -> $result<()> {
            if holds { Ok(()) } else { Err($error(status)) }
        }

        /// Writes a result; a null pointer is an error.
        ///
        /// # Safety
        /// The place is there, or null.
        pub unsafe fn put<V>(place: *mut V, value: V) -> $result<()> {
            ensure(!place.is_null(), $null)?;
            // SAFETY: the caller's promise.
            unsafe { place.write_unaligned(value) };
            Ok(())
        }

        /// Runs an entry, and returns its status: 0 for success. A panic becomes a status, too.
        pub fn answer(body: impl FnOnce() -> $result<()>) -> i32 {
            match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
                Ok(Ok(())) => 0,
                Ok(Err($error(status))) => status,
                Err(_) => $panicked,
            }
        }
    };
}

/// Defines entries of a library, which take `answer` from its module `status`.
#[macro_export]
#[allow(clippy::crate_in_macro_def)]
macro_rules! library_entries {
    ($(fn $name:ident($($argument:ident: $kind:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the library.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the interface requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, unused_unsafe)]
        pub unsafe extern "C" fn $name($($argument: $kind),*) -> i32 {
            // SAFETY: the caller's promise.
            crate::status::answer(move || unsafe { $body })
        }
    )*};
}

/// Defines items with `T` as the name of a kind of numbers.
#[macro_export]
macro_rules! items_of_kind {
    ($kind:ty => $($items:item)*) => {
        const _: () = {
            type T = $kind;
            $($items)*
        };
    };
}

/// Defines routines with a prefix and a result, each with its entries for kinds of numbers (`T`). The library's crate has `heddle_blas`, and
/// `answer` in its module `status`.
#[macro_export]
#[allow(clippy::crate_in_macro_def)]
macro_rules! library_routines {
    ($prefix:literal, $result:ty;
     $(fn $name:ident [$($entry:literal: $type:ty),* $(,)?] $arguments:tt $body:block)*) => {$(
        $crate::library_routines! { @generic $result, $name $arguments $body }
        $( $crate::library_routines! { @entry $prefix, $name $entry, $type, $arguments } )*
    )*};
    (@generic $result:ty, $name:ident ($($argument:ident: $kind:ty),* $(,)?) $body:block) => {
        // SAFETY: pointers are null or valid as the interface requires.
        #[allow(clippy::too_many_arguments)]
        unsafe fn $name<T: heddle_blas::Number>($($argument: $kind),*) -> $result {
            // SAFETY: the caller's promise.
            unsafe { $body }
        }
    };
    (@entry $prefix:literal, $name:ident $entry:literal, $type:ty, ($($argument:ident: $kind:ty),* $(,)?)) => {
        $crate::items_of_kind! { $type =>
            #[unsafe(export_name = concat!($prefix, $entry))]
            #[allow(clippy::too_many_arguments)]
            unsafe extern "C" fn entry($($argument: $kind),*) -> i32 {
                // SAFETY: the caller's promise.
                crate::status::answer(move || unsafe { $name::<T>($($argument),*) })
            }
        }
    };
}

/// Defines entries that a library does not support. They take no argument: nothing that they are handed is looked at.
#[macro_export]
macro_rules! refused_entries {
    ($status:expr, $text:literal: $($name:ident)*) => {
        /// Names of entries that are not supported.
        pub const REFUSED: &[&str] = &[$(stringify!($name)),*];
        $(
            #[doc = concat!("`", stringify!($name), "` of the library, which is not supported.")]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> i32 {
                $crate::report_refused(stringify!($name), $text);
                $status
            }
        )*
    };
}

/// Reports once that an unsupported entry is called, and its status, if `HEDDLE_REPORT=1` asks for that.
pub fn report_refused(entry: &'static str, status: &str) {
    static REPORTED: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
    if std::env::var_os("HEDDLE_REPORT").is_none_or(|value| value != "1") {
        return;
    }
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !reported.contains(&entry) {
        reported.push(entry);
        // Ignore write errors: nobody can receive the message.
        let _ = writeln!(std::io::stderr(), "heddle: {entry} is not supported: it returns {status}");
    }
}
