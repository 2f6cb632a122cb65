//! Orders of threads that shuttle draws: `scripts/sanitize orders`.

use super::*;

/// Does the same on three ranks.
fn together(work: fn(Arc<dyn Communicator>)) {
    let shared = Arc::new(Shared::new(3, &Arc::new(Watch::new(3))));
    let one = |rank| {
        let shared = Arc::clone(&shared);
        shuttle::thread::spawn(move || work(Rank::of(rank, &shared, rank, &shared)))
    };
    let ranks: Vec<_> = (0..3).map(one).collect();
    ranks.into_iter().for_each(|rank| rank.join().unwrap());
}

fn check_orders(job: fn()) {
    shuttle::check_random(job, 5_000);
    shuttle::check_pct(job, 5_000, 3);
}

#[test]
fn sums_messages_and_parts_are_right_and_nobody_waits_for_ever() {
    check_orders(|| {
        together(|team| {
            let rank = team.rank();
            let mut values = [1.0, rank as f64];
            team.sum(&mut values).unwrap();
            assert_eq!(values, [3.0, 3.0]);
            let all = team.all_gather(&[rank as u8]).unwrap();
            assert_eq!(all, [[0], [1], [2]]);
            let part = team.split(rank % 2).unwrap();
            assert_eq!(part.total(1).unwrap(), 2 - rank as u64 % 2);
            team.barrier().unwrap();
        });
    });
}

#[test]
fn a_rank_that_fails_ends_the_others() {
    check_orders(|| {
        together(|team| match team.rank() {
            1 => drop(team.give_up("it has failed".to_owned())),
            _ => assert!(team.barrier().is_err()),
        });
    });
}
