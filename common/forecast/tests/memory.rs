//! What predictors take from the allocator: nothing once their windows are full, and little before.
#![expect(
    unsafe_code,
    reason = "an allocator that counts is an implementation of an unsafe trait"
)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use forecast::generator::Set;
use forecast::{Forecaster, Method, Observation, Predictor, Quantity};

/// Counts what the thread of a test takes.
struct Counting;

thread_local! {
    static CALLS: Cell<usize> = const { Cell::new(0) };
    static BYTES: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    CALLS.set(CALLS.get() + 1);
    BYTES.set(BYTES.get() + bytes);
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        BYTES.set(BYTES.get() - layout.size() as isize);
        // SAFETY: the caller's promises are those of the system's allocator.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// DES fills its rarest class last: its rings grow for thousands of values.
const FULL: usize = 60_000;

#[test]
fn full_windows_take_nothing_from_the_allocator() {
    let series = Set::Two.generate(3, 1, FULL).remove(0);
    for method in Method::ALL {
        let mut forecaster = Forecaster::new(method, Quantity::Runtime);
        for &value in &series {
            forecaster.observe(Observation::Value(value));
        }
        let (calls, bytes) = (CALLS.get(), forecaster.state_bytes());
        for (at, &value) in series.iter().take(2000).enumerate() {
            forecaster.observe(match at % 50 {
                0 => Observation::Gap,
                1 => Observation::AtLeast(value),
                _ => Observation::Value(value),
            });
            assert!(forecaster.forecast().is_some() && forecaster.quantiles().is_some());
        }
        // A ring of DES's rarest class may still double.
        let grown = forecaster.state_bytes() > bytes;
        assert!(
            grown || CALLS.get() == calls,
            "{method} took memory {} times",
            CALLS.get() - calls
        );
        assert!(!grown || method == Method::Des || method == Method::Xavantes);
    }
}

#[test]
fn what_a_predictor_says_that_it_takes_is_what_it_takes() {
    let series = Set::Two.generate(4, 1, 3000).remove(0);
    for method in Method::ALL {
        for n in [1, 10, 288, 3000] {
            let before = BYTES.get();
            let mut forecaster = Box::new(Forecaster::new(method, Quantity::Runtime));
            for &value in &series[..n] {
                forecaster.observe(Observation::Value(value));
            }
            let taken = (BYTES.get() - before) as usize;
            assert_eq!(taken, forecaster.state_bytes(), "{method} after {n} values");
        }
    }
}

#[test]
fn bounds_of_memory_hold_for_the_worst_series() {
    // Each class of DES gets its share of the errors, so that all of its rings fill.
    let series: Vec<f64> = Set::Two.generate(5, 8, 8000).concat();
    for method in Method::ALL {
        let mut predictor = method.predictor();
        for &value in &series {
            predictor.observe(Observation::Value(value));
        }
        let (taken, most) = (predictor.state_bytes(), method.state_bytes_max());
        assert!(taken <= most, "{method}: {taken} of {most}");
        // The table of docs/forecasting.md.
        let told = match method {
            Method::Xavantes => 28,
            Method::Des => 42,
            Method::Nws => 32,
            Method::Ar16 => 6,
            Method::Median
            | Method::TrimmedMean
            | Method::Last
            | Method::Mean
            | Method::Es
            | Method::TriggLeach
            | Method::Whybark
            | Method::Mentzer
            | Method::Pantazopoulos => 1,
        };
        println!("{method}: {most}");
        assert!(most <= told * 1024, "{method}: {most}");
        // 10,000 series in 450 MB, the quantiles included.
        assert!(most + 2600 <= 45_000, "{method}: {most}");
    }
}

/// A day of 288 values each, as in the PlanetLab traces.
#[test]
fn ten_thousand_series_of_a_day_take_less_than_200_mb() {
    let series = Set::Two.generate(6, 100, 288);
    for method in Method::ALL {
        let mut bytes = 0;
        for values in &series {
            let mut forecaster = Forecaster::new(method, Quantity::Runtime);
            for &value in values {
                forecaster.observe(Observation::Value(value));
            }
            bytes += forecaster.state_bytes();
        }
        let ten_thousand = bytes / series.len() * 10_000;
        println!("{method}: {ten_thousand} bytes");
        // The battery keeps a hundred errors of each of its 23 members.
        let most = if method == Method::Nws {
            300_000_000
        } else {
            200_000_000
        };
        assert!(ten_thousand < most, "{method}: {ten_thousand} bytes");
    }
}
