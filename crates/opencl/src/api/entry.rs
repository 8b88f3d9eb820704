//! Macros that define exported entries.

/// Defines entries that return an error code.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the specification.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the specification requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> cl_int {
            $crate::api::answer(move || -> ClResult<()> { $body })
        }
    )*};
}

/// Defines entries that create an object and take a pointer for the error code as their last argument.
macro_rules! makers {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the specification.")]
        ///
        /// # Safety
        /// Pointers are null or valid as the specification requires.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type,)* code: ClOutput<cl_int>) -> ClHandle {
            $crate::api::made(code, move || -> ClResult<_> { $body })
        }
    )*};
}
