//! Teams of threads.

use super::*;
use crate::communicator::Messages;

#[test]
fn messages_arrive_in_order_and_work_goes_on_meanwhile() {
    let received = run(4, |team| {
        let (rank, size) = (team.rank(), team.size());
        let (next, last) = ((rank + 1) % size, (rank + size - 1) % size);
        let mut worked = 0;
        let mut out = [0u8; 2];
        for round in 0..10u8 {
            let sent = [rank as u8, round];
            let mut messages = Messages {
                sent: vec![(next, &sent)],
                received: vec![(last, &mut out)],
            };
            team.exchange(&mut messages, &mut || {
                worked += 1;
                Ok(())
            })?;
            assert_eq!(out, [last as u8, round]);
        }
        assert_eq!((worked, team.traffic().messages), (10, 10));
        Ok(())
    });
    received.unwrap();
}

#[test]
fn bytes_of_any_length_go_to_every_rank() {
    run(5, |team| {
        let bytes = (0..5).map(|to| vec![team.rank() as u8; to]).collect();
        let all = team.all_to_all(bytes)?;
        for (from, bytes) in all.iter().enumerate() {
            assert_eq!(bytes, &vec![from as u8; team.rank()]);
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn parts_of_a_team_are_teams() {
    let sums = run(5, |team| {
        let part = team.split(team.rank() % 2)?;
        let mut sum = [team.rank() as f64];
        part.sum(&mut sum)?;
        let again = part.split(0)?;
        assert_eq!((again.rank(), again.size()), (part.rank(), part.size()));
        Ok((part.rank(), part.size(), sum[0]))
    });
    let odd = [(0, 2, 4.0), (1, 2, 4.0)];
    let expected = [(0, 3, 6.0), odd[0], (1, 3, 6.0), odd[1], (2, 3, 6.0)];
    assert_eq!(sums.unwrap(), expected);
}

#[test]
fn a_rank_that_fails_ends_all_of_them() {
    let failed = run(3, |team| {
        let part = team.split(0)?;
        if team.rank() == 2 {
            return Err(Error::Team("no more ink".to_owned()));
        }
        loop {
            part.barrier()?;
        }
        #[allow(unreachable_code)]
        Ok(())
    });
    assert_eq!(failed.unwrap_err().to_string(), "no more ink");
    let panicked = run(2, |team| {
        assert!(team.rank() == 1);
        team.barrier()
    });
    assert!(panicked.is_err());
}

#[test]
fn ranks_that_call_different_operations_end_with_the_names_of_both() {
    let apart = run(3, |team| match team.rank() {
        2 => team.all_gather(&[1, 2]).map(|_| ()),
        _ => team.sum(&mut [0.0; 8]),
    });
    let message = apart.unwrap_err().to_string();
    let [first, second] = ["adds 8 numbers at", "rank 2 gathers messages at"];
    assert!(
        message.contains(first) && message.contains(second),
        "{message}"
    );
    assert!(message.contains("tests.rs:"), "{message}");
    // The one waits for a message, the other for a sum.
    let apart = run(2, |team| {
        let mut out = [0; 5];
        let mut messages = Messages::default();
        if team.rank() == 0 {
            messages.received.push((1, &mut out));
            return team.exchange(&mut messages, &mut || Ok(()));
        }
        team.barrier()
    });
    let message = apart.unwrap_err().to_string();
    assert!(message.contains("exchanges 5 bytes at"), "{message}");
}

#[test]
fn there_is_a_bound_on_ranks() {
    let refused = run(100_000, |_| Ok(())).unwrap_err().to_string();
    assert!(
        refused.contains("100000") && refused.contains("4096"),
        "{refused}"
    );
}

#[test]
fn ranks_that_wait_in_vain_end_with_what_they_do() {
    // A message that nobody sends, and a rank that has ended.
    let ended = run(2, |team| {
        let mut out = [0; 5];
        if team.rank() == 0 {
            let span = Span {
                rank: 1,
                address: out.as_mut_ptr() as u64,
                bytes: 5,
            };
            // SAFETY: an array that outlives the call.
            return unsafe { team.transfer(&[], &[span], &mut || Ok(())) };
        }
        Ok(())
    });
    let message = ended.unwrap_err().to_string();
    assert!(message.contains("rank 1 has ended"), "{message}");
}
