use super::*;

/// The names of all commands that are shown, those of groups with their group before them.
fn names() -> Vec<String> {
    let command = arguments::Arguments::command();
    let mut names = Vec::new();
    for one in command.get_subcommands().filter(|one| !one.is_hide_set()) {
        names.push(one.get_name().to_owned());
        let inner = one.get_subcommands().filter(|one| !one.is_hide_set());
        names.extend(inner.map(|inner| format!("{}-{}", one.get_name(), inner.get_name())));
    }
    names
}

#[test]
fn all_commands_are_in_the_script_of_each_shell() {
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let script = script(shell);
        for name in names() {
            let last = name
                .rsplit_once('-')
                .map_or(name.as_str(), |(_, last)| last);
            let words = script.split(|c: char| !(c.is_alphanumeric() || c == '-'));
            assert!(
                words.into_iter().any(|word| word == last),
                "{shell:?}: {name}"
            );
        }
        assert!(script.contains("keep-going"), "{shell:?}");
    }
}

#[test]
fn each_command_has_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let man = Man {
        directory: directory.path().join("man1"),
    };
    assert_eq!(super::man(&man).unwrap(), 0);
    for name in names() {
        let page = man.directory.join(format!("xav-{name}.1"));
        let text = fs::read_to_string(&page).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(text.contains(".TH xav-"), "{name}");
    }
    let all = fs::read_to_string(man.directory.join("xav.1")).unwrap();
    assert!(all.contains("xav\\-run(1)"), "{all}");
}
