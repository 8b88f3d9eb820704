//! Macros that define exported entries.

/// Defines entries that return an error code. Names after `|` are aliases for other API versions and stream modes.
macro_rules! entries {
    () => {};
    (fn $name:ident $(| $also:ident)* ($($arguments:tt)*) $body:block $($rest:tt)*) => {
        entries!(@entry $name ($($arguments)*) $body);
        entries!(@all [$($also)*] $name ($($arguments)*));
        entries! { $($rest)* }
    };
    (@all [] $name:ident $arguments:tt) => {};
    (@all [$also:ident $($more:ident)*] $name:ident $arguments:tt) => {
        entries!(@same $also $name $arguments);
        entries!(@all [$($more)*] $name $arguments);
    };
    (@entry $name:ident ($($argument:ident: $type:ty),* $(,)?) $body:block) => {
        #[doc = concat!("`", stringify!($name), "` of `cuda.h`.")]
        ///
        /// # Safety
        /// Pointers are null or valid as `cuda.h` requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> $crate::cuda::CUresult {
            $crate::api::answer(move || -> $crate::core::error::CudaResult<()> { $body })
        }
    };
    (@same $also:ident $name:ident ($($argument:ident: $type:ty),* $(,)?)) => {
        #[doc = concat!("[`", stringify!($name), "`] under another name.")]
        ///
        /// # Safety
        /// As for that one.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments, clippy::used_underscore_binding)]
        pub unsafe extern "C" fn $also($($argument: $type),*) -> $crate::cuda::CUresult {
            // SAFETY: the caller's promise.
            unsafe { $name($($argument),*) }
        }
    };
}
