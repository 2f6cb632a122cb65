//! Work of ranks with devices that is recorded with its messages.

use super::*;
use crate::communicator::threads;
use crate::linop::LinOp;
use crate::matrix::csr::testing::of_rows;
use crate::prelude::*;

const ROWS: usize = 40;

/// A periodic line with 2.5 on the diagonal, even rows of it coupled to those far away.
fn line(rank: &Executor) -> Result<Distributed<f64>> {
    let n = ROWS;
    let whole = of_rows(&rank.alone(), Size::square(n), Duplicates::Refuse, |row| {
        let mut columns = vec![(row + n - 1) % n, row, (row + 1) % n];
        columns.extend(row.is_multiple_of(2).then_some((row + n / 2) % n));
        let entries = columns.into_iter();
        entries
            .map(|column| (column, 2.5 - column as f64 * 0.1))
            .collect()
    });
    let even = Partition::even(n as u64, 1, team_of(rank)?.size());
    Distributed::part_of(rank, &whole, even)
}

/// What is computed: a product, sums of it, and what an operator of rank 0 makes of it.
struct Results {
    y: Vector<f64>,
    z: Vector<f64>,
    dots: [Scalars<f64>; 3],
}

impl Results {
    fn compute(
        &mut self,
        (a, half): (&Distributed<f64>, &Gathered<f64>),
        x: &Vector<f64>,
        ws: &Workspace,
    ) -> Result<()> {
        a.apply(x, &mut self.y, ws)?;
        let [first, second, norm] = &mut self.dots;
        self.y.dot2(x, &self.y, first, second)?;
        self.y.norm(norm)?;
        half.apply(&self.y, &mut self.z, ws)
    }

    fn numbers(&self) -> Result<Vec<f64>> {
        let mut all = [self.y.to_vec(), self.z.to_vec()].concat();
        for dots in &self.dots {
            // The host would keep a copy that work which is replayed knows nothing of.
            let mut sum = [0.0];
            dots.values.read(&mut sum)?;
            all.extend(sum);
        }
        Ok(all)
    }
}

/// Half of what it is given, by rank 0.
fn half(rank: &Executor, a: &Distributed<f64>) -> Result<Gathered<f64>> {
    let half = || Csr::diagonal_matrix(&rank.gathering(), vec![0.5; ROWS]);
    let leads = team_of(rank)?.rank() == 0;
    let inner = leads.then(|| Arc::new(half()) as Arc<dyn LinOp<f64>>);
    Ok(Gathered::new(rank, a.rows(), inner))
}

/// Whether messages are recorded, as they are not in a process with more streams than queues.
fn records(rank: &Executor) -> bool {
    let records = rank.callbacks().is_some();
    if !records {
        eprintln!("skipped: messages are not recorded on {rank:?}");
    }
    records
}

#[test]
fn messages_of_recorded_work_are_sent_whenever_it_is_replayed() {
    let Some(device) = device() else { return };
    threads::run(3, |team| {
        let rank = device.with_team(&team)?;
        if !records(&rank) {
            return Ok(());
        }
        let (a, ws) = (line(&rank)?, Workspace::new());
        let half = half(&rank, &a)?;
        let rows = a.size().rows;
        let mut x = Vector::<f64>::filled(&rank, rows, 1, 1.0)?;
        let empty = Vector::<f64>::filled(&rank, rows, 1, 0.0)?;
        let dots = [const { 0.0 }; 3].map(|zero| Scalars::filled(&rank, 1, zero));
        let [first, second, norm] = dots;
        let mut found = Results {
            y: empty.clone(),
            z: empty,
            dots: [first?, second?, norm?],
        };
        let numbers = |turn: usize| -> Vec<f64> {
            let value = |row: usize| (1 + row * turn + team.rank()) as f64;
            (0..rows).map(value).collect()
        };
        let mut expected = Vec::new();
        for turn in 0..3 {
            x.write(&numbers(turn))?;
            found.compute((&a, &half), &x, &ws)?;
            expected.push(found.numbers()?);
        }
        // Sums are on the host then: kernels read them before work is recorded that writes them.
        for dots in &found.dots {
            dots.values.device()?;
        }
        let recorded = rank.record(|| found.compute((&a, &half), &x, &ws));
        let recorded = recorded.expect("work with messages can be recorded");
        team.barrier()?;
        for (turn, expected) in expected.iter().enumerate() {
            x.write(&numbers(turn))?;
            recorded.replay()?;
            assert_eq!(&found.numbers()?, expected, "{turn}");
        }
        Ok(())
    })
    .unwrap();
}

#[test]
fn a_rank_that_fails_ends_those_that_replay() {
    let Some(device) = device() else { return };
    let ended = threads::run(2, |team| {
        let rank = device.with_team(&team)?;
        if !records(&rank) {
            return Err(Error::Team("no more stamps".to_owned()));
        }
        let (a, ws) = (line(&rank)?, Workspace::new());
        let x = Vector::<f64>::filled(&rank, a.size().rows, 1, 1.0)?;
        let mut y = x.clone();
        a.apply(&x, &mut y, &ws)?;
        let recorded = rank.record(|| a.apply(&x, &mut y, &ws));
        let recorded = recorded.expect("work with messages can be recorded");
        team.barrier()?;
        if team.rank() == 1 {
            return Err(Error::Team("no more stamps".to_owned()));
        }
        recorded.replay()?;
        recorded.replay()?;
        rank.synchronize()?;
        let error = rank.callbacks().expect("it has recorded").check();
        assert!(error.unwrap_err().to_string().contains("no more stamps"));
        Ok(())
    });
    assert_eq!(ended.unwrap_err().to_string(), "no more stamps");
}

#[test]
fn messages_that_are_no_part_of_recorded_work_are_refused() {
    let Some(device) = device() else { return };
    threads::run(2, |team| {
        let rank = device.with_team(&team)?;
        if records(&rank) {
            assert!(rank.record(|| team.barrier()).is_none());
            assert!(rank.record(|| Ok(())).is_some());
        }
        Ok(())
    })
    .unwrap();
}
