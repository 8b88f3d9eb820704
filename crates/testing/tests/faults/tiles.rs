//! Arrays in tiles.

use heddle_testing::tile_cases::tile_case;
use heddle_testing::wide::{forms, widens};
use heddle_transform::widen::RemarkKind;

#[test]
fn arrays_in_tiles_widen() {
    let mut cells = 0;
    for seed in 0..600 {
        let case = tile_case(seed);
        widens(&case).unwrap_or_else(|reason| panic!("seed {seed}: {reason}\n{}", case.module));
        cells += u32::from(forms(&case).is_ok_and(|forms| forms.contains(&RemarkKind::Cells)));
    }
    assert!(cells > 200, "{cells} functions with cells");
}
