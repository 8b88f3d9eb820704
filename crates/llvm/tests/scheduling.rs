//! The limit of LLVM's schedulers, which is set by name.

#[test]
fn this_llvm_has_the_limits_of_its_schedulers() {
    assert!(heddle_llvm::limit_scheduling());
    // Setting them again changes nothing.
    assert!(heddle_llvm::limit_scheduling());
}
