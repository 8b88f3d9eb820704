use heddle_testing::{
    generate::{Profile, generate},
    properties::TOPICS,
};
fn main() {
    let args: Vec<u64> = std::env::args().skip(1).map(|a| a.parse().unwrap()).collect();
    let profile = Profile::default();
    if args.len() == 1 {
        let case = generate(args[0], &profile);
        println!("{}", case.module);
        println!("{:?}", case.traits);
        for input in &case.inputs {
            println!("{:?} {:?} {:?}", input.brush, input.group, input.args);
        }
        for t in TOPICS {
            println!("{} {:?}", t.name, (t.check)(&case));
        }
        return;
    }
    let mut failures = std::collections::BTreeMap::<String, Vec<u64>>::new();
    let start = std::time::Instant::now();
    let mut gen_time = std::time::Duration::ZERO;
    let mut times = vec![std::time::Duration::ZERO; TOPICS.len()];
    let mut sizes = vec![];
    for seed in args[0]..args[1] {
        let t0 = std::time::Instant::now();
        let case = match std::panic::catch_unwind(|| generate(seed, &profile)) {
            Ok(c) => c,
            Err(_) => {
                failures.entry("panic".into()).or_default().push(seed);
                continue;
            }
        };
        gen_time += t0.elapsed();
        sizes.push(
            case.module
                .functions
                .iter()
                .map(|f| f.blocks().map(|b| f.block_insts(b).count()).sum::<usize>())
                .sum::<usize>(),
        );
        for (i, t) in TOPICS.iter().enumerate() {
            let t0 = std::time::Instant::now();
            let r = std::panic::catch_unwind(|| (t.check)(&case)).unwrap_or_else(|_| Err("panic".into()));
            times[i] += t0.elapsed();
            if let Err(e) = r {
                let mut key: String = format!(
                    "{}: {:?} {}",
                    t.name,
                    case.traits.class,
                    e.chars().filter(|c| !c.is_ascii_digit()).take(150).collect::<String>()
                );
                key = key.replace('\n', " ");
                failures.entry(key).or_default().push(seed);
            }
        }
    }
    sizes.sort();
    println!(
        "{:?} gen {:?} {:?}, sizes median {} p90 {} max {}",
        start.elapsed(),
        gen_time,
        times,
        sizes[sizes.len() / 2],
        sizes[sizes.len() * 9 / 10],
        sizes[sizes.len() - 1]
    );
    let mut list: Vec<_> = failures.into_iter().collect();
    list.sort_by_key(|(_, s)| std::cmp::Reverse(s.len()));
    for (k, s) in list.iter().take(40) {
        println!("{} x{} {:?}", k, s.len(), &s[..s.len().min(4)]);
    }
}
