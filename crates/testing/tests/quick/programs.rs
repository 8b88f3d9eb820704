//! The first programs of each topic that runs analyses or passes: a few seconds that catch most errors, for frequent
//! runs (`./x mutants`). `generated.rs` does the same on more programs.

use heddle_testing::fuzz::check;
use heddle_testing::generate::generate;
use heddle_testing::properties::{TOPICS, Topic};

const SEEDS: u64 = 40;

#[test]
fn every_topic_holds_of_the_first_programs() {
    let runs_no_pass = |topic: &&Topic| matches!(topic.name, "roundtrip" | "verify" | "schedules");
    let topics: Vec<&Topic> = TOPICS.iter().filter(|topic| !runs_no_pass(topic)).collect();
    // Seed by seed through all topics: what breaks one of them shows early.
    for seed in 0..SEEDS {
        for topic in &topics {
            let case = generate(seed, &(topic.profile)());
            if let Err(reason) = check(topic, &case) {
                panic!("{}, seed {seed}: {reason}", topic.name);
            }
        }
    }
}
