use super::*;

fn ask(board: &Board, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(board.address()).unwrap();
    stream.write_all(request).unwrap();
    let mut text = String::new();
    // A request that is too long may be answered before it is read.
    let _ = stream.read_to_string(&mut text);
    text
}

#[test]
fn the_newest_figures_are_told_and_nothing_else() {
    let board = Board::open(([127, 0, 0, 1], 0).into()).unwrap();
    let mut figures = Figures::default();
    figures.counter("links_total", "Links.", 3);
    figures.gauge("load_cores", "Busy cores.", 0.5);
    figures.of_process();
    board.show(figures);
    let text = ask(&board, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
    let expected = "# HELP xavantes_links_total Links.\n# TYPE xavantes_links_total counter\n\
                    xavantes_links_total 3\n# HELP xavantes_load_cores Busy cores.\n";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("\nxavantes_memory_bytes "), "{text}");
    assert!(
        text.contains("# TYPE xavantes_cpu_seconds_total counter\n"),
        "{text}"
    );
    assert!(ask(&board, b"GET / HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
    assert!(ask(&board, b"POST /metrics HTTP/1.0\r\n\r\n").starts_with("HTTP/1.0 404"));
    let long = vec![b'x'; REQUEST_BYTES_MAX + 1];
    assert!(!ask(&board, &long).contains("200 OK"));
    // A silent client does not block the thread for ever.
    let silent = TcpStream::connect(board.address()).unwrap();
    assert!(ask(&board, b"GET /metrics HTTP/1.0\r\n\r\n").contains("200 OK"));
    drop(silent);
}

#[test]
fn a_histogram_has_a_line_a_bound_and_one_for_all() {
    let mut values = Histogram::new(&[250, 1_000_000]);
    for value in [100, 2_000, 3_000_000] {
        values.note(value);
    }
    let mut figures = Figures::default();
    figures.histogram("flush_seconds", "Flushes.", &values, 1e-6);
    assert_eq!(
        figures.text(),
        "# HELP xavantes_flush_seconds Flushes.\n\
         # TYPE xavantes_flush_seconds histogram\n\
         xavantes_flush_seconds_bucket{le=\"0.00025\"} 1\n\
         xavantes_flush_seconds_bucket{le=\"1\"} 2\n\
         xavantes_flush_seconds_bucket{le=\"+Inf\"} 3\n\
         xavantes_flush_seconds_sum 3.0021\n\
         xavantes_flush_seconds_count 3\n"
    );
}

#[test]
fn the_values_of_labels_stay_in_their_quotes() {
    let mut figures = Figures::default();
    let mut slots = figures.gauges("slots", "Slots.");
    slots.add(&[("owner", "a\"b\\c\nd"), ("state", "used")], 2.0);
    slots.add(&[], 3.0);
    let samples: Vec<&str> = figures.text().lines().skip(2).collect();
    assert_eq!(
        samples,
        [
            r#"xavantes_slots{owner="a\"b\\c\nd",state="used"} 2"#,
            "xavantes_slots 3"
        ]
    );
}
