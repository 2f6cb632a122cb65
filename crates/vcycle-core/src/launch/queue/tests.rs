use super::*;

#[test]
fn offsets_are_those_of_the_host() {
    let Some(executor) = device() else { return };
    let queue = Queue::of(&executor).unwrap();
    for len in [0, 1, 7, 2048, 2049, 70_001] {
        let counts: Vec<u32> = (0..len).map(|i: u32| i.wrapping_mul(77) % 3).collect();
        let on_device = Buffer::from_vec(&executor, counts.clone());
        let (offsets, total) = queue.offsets(&on_device).unwrap();
        let mut sum = 0;
        let mut expected = vec![0];
        for &count in &counts {
            sum += count as usize;
            expected.push(sum);
        }
        assert_eq!((offsets.host().unwrap(), total), (&expected[..], sum));
    }
}

#[test]
fn arrays_are_filled() {
    let Some(executor) = device() else { return };
    let queue = Queue::of(&executor).unwrap();
    assert_eq!(queue.filled(2, 7).unwrap().host().unwrap(), [7, 7]);
    assert_eq!(queue.filled(5, 3).unwrap().get(4).unwrap(), 3);
}
