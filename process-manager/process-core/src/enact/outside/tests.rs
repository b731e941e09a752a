use super::*;
use model::AttemptId;

fn of(words: &[&str]) -> Dispatch {
    let words = words.iter().map(|word| (*word).to_owned()).collect();
    Dispatch::new(AttemptId::default(), words)
}

#[test]
fn everything_outside_of_the_directory_and_the_system_is_found() {
    for line in [
        "cat /data/genome.fa > out",
        "echo done >>/srv/ana/log",
        "sort --parallel=2 --files0-from=/lists/all",
        "cat ../beside",
        "cat ~/notes",
        "ls $HOME/data",
        "ls \"${HOME}/data\"",
        "PATH=/opt/x/bin:/srv/x/bin prog",
        "cd '/work'; make",
        "cat ~ana/notes",
        "ls ~",
        "cd; cat notes",
        "cd && ls",
        "cd -",
        "ls ..",
        "cd ..; cat x",
        "cp parts/../../x .",
        "cc -I/srv/ana/include a.c",
        "tar -C/data -xf in.tar",
        "find / -name x",
        "ls /",
        "du /*",
        "cat /opt/tables/t",
        "cat /proc/uptime",
        "cat /dev/shm/x",
        "cat <$TMPDIR/x",
        "echo $XAVANTES_PROCESS > id",
        "curl -o page https://example.org/page",
        // A pattern between slashes may as well be a path.
        "awk '/word/ { print }' in.txt",
    ] {
        assert!(names_outside(&of(&["sh", "-c", line])), "{line}");
    }
    assert!(names_outside(&of(&["/srv/ana/tool", "in.txt"])));
    assert!(names_outside(&of(&["ls", ".."])));
}

#[test]
fn what_is_in_the_directory_or_the_system_is_not() {
    for line in [
        "cat in.txt parts/*.txt > out/all.txt 2>/dev/null",
        "/usr/bin/env python3 run.py < /dev/null",
        "sed s/a/b/ in.txt | tr a-z A-Z",
        "cc -I/usr/include -L/usr/lib a.c",
        "prog --level -v a/b x-y/z 2>>/dev/stderr",
        "echo {1..5} a..b ...",
        "cd-hit -i in.fa; abcd; cd parts; cd parts && ls",
        "awk '{ print $1 / $2 }' in.txt",
        "echo $((6 / 2)) 1/2 a/b",
        "./run.sh ./in.txt",
    ] {
        assert!(!names_outside(&of(&["sh", "-c", line])), "{line}");
    }
}

#[test]
fn the_word_that_names_something_outside_is_told() {
    for (line, word) in [
        ("sort -k 2 < /data/genome.fa > out", "/data/genome.fa"),
        ("cat \"$HOME/notes\"", "$HOME/notes"),
        ("cd ..; cat x", ".."),
        ("cd && ls", "cd"),
        (
            "curl -o page https://example.org/page",
            "https://example.org/page",
        ),
        ("cc -I/srv/ana/include a.c", "-I/srv/ana/include"),
        ("echo ${XAVANTES_CORES}", "${XAVANTES_CORES}"),
    ] {
        let named = named_outside(&of(&["sh", "-c", line]));
        assert_eq!(named.as_deref(), Some(word), "{line}");
    }
    let long = format!("cat /{}", "ä".repeat(500));
    let named = named_outside(&of(&["sh", "-c", &long]));
    assert_eq!(named.unwrap().chars().count(), SHOWN_MAX);
}

#[test]
fn the_environment_and_stdin_are_looked_at_too() {
    let bare = of(&["prog"]);
    let env = |name: &str, value: &str| Dispatch {
        env: vec![(name.to_owned(), value.to_owned())],
        ..bare.clone()
    };
    assert!(names_outside(&env("PYTHONPATH", "/srv/ana/lib")));
    assert!(!names_outside(&env("LC_ALL", "C")));
    let stdin = Dispatch {
        stdin: Stdin::Text("/data/a\n/data/b\n".to_owned()),
        ..bare
    };
    assert!(names_outside(&stdin));
}
