//! How entries are written.

/// Entries that return a code.
macro_rules! entries {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the specification.")]
        ///
        /// # Safety
        /// Pointers lead to what the specification says, or are null.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type),*) -> cl_int {
            $crate::api::answer(move || -> ClResult<()> { $body })
        }
    )*};
}

/// Entries that make something and take the place of a code as their last argument.
macro_rules! makers {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) $body:block)*) => {$(
        #[doc = concat!("`", stringify!($name), "` of the specification.")]
        ///
        /// # Safety
        /// Pointers lead to what the specification says, or are null.
        #[unsafe(no_mangle)]
        #[allow(clippy::too_many_arguments)]
        pub unsafe extern "C" fn $name($($argument: $type,)* code: ClOutput<cl_int>) -> ClHandle {
            $crate::api::made(code, move || -> ClResult<ClHandle> { $body })
        }
    )*};
}
