//! Commands and what they print, as data: the files of `tests/cases`.
//!
//! A case begins with `== its name`. Each of its lines is one of these; `@NAME` is a file of the case:
//!
//! | line | meaning |
//! |---|---|
//! | `> ARGUMENTS [< @NAME]` | runs `vcycle`, perhaps with a standard input, which ends with status 0; `1>` and `2>`: with that status |
//! | `refuse ARGUMENTS \| MESSAGE` | `vcycle solve` refuses them with this message, for people and as JSON |
//! | `out TEXT`, `err TEXT` | the last command printed this; `quiet err`: nothing |
//! | `json [@NAME] PATH IS VALUE` | a value of the object it printed, or of a file; IS: `=`, `<`, `<=`, `>`, `>=`, `~N` (N apart at most), `has`; `#` is a length, `*` all items |
//! | `keys KEYS` | its object has them |
//! | `keep NAME PATH` | `$NAME` is that value from now on |
//! | `lines IS N`, `width N` | lines that it printed, and letters of the longest at most |
//! | `in @NAME TEXT`, `count @NAME IS N TEXT` | the file has this text, so often |
//! | `same @NAME @OTHER N` | the numbers of two files differ by this part of the largest at most |
//! | `each WORD A \| B` | the case is run for A and for B in place of `{WORD}` |
//! | `not ...` | `out`, `err` or `in` does not hold |
//! | `save @NAME` | writes what the last command printed |
//! | `file NAME` | writes the lines that follow, indented by four spaces |
//! | `columns @NAME ROWS VALUES` | writes so many rows, each value a column |
//! | `cut @NAME BYTES @OTHER` | copies the beginning of a file |
//! | `env NAME=VALUE` | for the commands that follow |

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::common::{Run, fed, run, scratch};

#[test]
fn solves_print_and_write_what_scripts_rely_on() {
    all("solve", include_str!("cases/solve.txt"));
}

#[test]
fn bad_input_is_refused_with_its_place() {
    all("refused", include_str!("cases/refused.txt"));
}

#[test]
fn the_other_commands_work() {
    all("other", include_str!("cases/other.txt"));
}

#[test]
fn ranks_solve_as_one_does() {
    all("ranks", include_str!("cases/ranks.txt"));
}

/// A case for each value of a word.
fn expanded(block: &str) -> Vec<String> {
    let each = block.lines().find_map(|line| line.strip_prefix("each "));
    let Some((word, values)) = each.and_then(|each| each.split_once(' ')) else {
        return vec![block.to_owned()];
    };
    let rest = block.replacen(&format!("each {word} {values}\n"), "", 1);
    let of = |value| expanded(&rest.replace(&format!("{{{word}}}"), value));
    values.split(" | ").flat_map(of).collect()
}

/// Runs all cases of a file; all that fail are reported.
fn all(file: &str, text: &str) {
    let mut failed = Vec::new();
    let blocks = text.split("== ").filter(|block| !block.is_empty());
    for (number, block) in blocks.flat_map(expanded).enumerate() {
        let (name, lines) = block.split_once('\n').unwrap_or((&block, ""));
        let mut case = Case {
            prefix: format!("{file}-{number}-"),
            ..Case::default()
        };
        let mut lines = lines.lines().peekable();
        while let Some(line) = lines.next() {
            let mut contents = String::new();
            while let Some(inner) = lines.next_if(|line| line.starts_with("    ")) {
                contents += &format!("{}\n", &inner[4..]);
            }
            if let Err(why) = case.step(line, &contents) {
                failed.push(format!("{file}, {name}: {line}\n{why}"));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n\n"));
}

type Outcome = Result<(), String>;

/// A case on its way.
#[derive(Default)]
struct Case {
    /// Of its files.
    prefix: String,
    variables: Vec<(String, String)>,
    kept: HashMap<String, Value>,
    last: Run,
}

impl Case {
    fn step(&mut self, line: &str, contents: &str) -> Outcome {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        match word {
            "" | "#" => Ok(()),
            ">" => self.command(0, rest),
            "1>" => self.command(1, rest),
            "2>" => self.command(2, rest),
            "refuse" => self.refuse(rest),
            "not" => match self.holds(rest) {
                Ok(()) => Err(self.report()),
                Err(_) => Ok(()),
            },
            "json" => self.json(rest),
            "keys" => rest.split_whitespace().try_for_each(|key| self.key(key)),
            "keep" => {
                let (name, path) = rest.split_once(' ').unwrap_or((rest, ""));
                let value = at(&self.object()?, path);
                self.kept.insert(name.to_owned(), value);
                Ok(())
            }
            "lines" => {
                let (is, number) = rest.split_once(' ').unwrap_or(("=", rest));
                let count = self.last.stdout.lines().count();
                compared(&count.into(), is, &value(number)).map_err(|why| why + &self.report())
            }
            "width" => {
                let longest = self.last.stdout.lines().map(|line| line.chars().count());
                let longest = longest.max().unwrap_or(0);
                compared(&longest.into(), "<=", &value(rest))
            }
            "count" => {
                let [name, is, number, text] = words(rest);
                let count = self.read(name)?.matches(text).count();
                compared(&count.into(), is, &value(number))
            }
            "same" => {
                let [one, other, share] = words(rest);
                let (one, other) = (self.numbers(one)?, self.numbers(other)?);
                let most = one.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
                let share: f64 = share.parse().unwrap();
                let mut pairs = one.iter().zip(&other);
                let is_same = pairs.all(|(x, y)| (x - y).abs() <= share * most);
                match is_same && one.len() == other.len() && most > 0.0 {
                    true => Ok(()),
                    false => Err(format!("{one:?} is not {other:?}")),
                }
            }
            "save" => self.write(rest, self.last.stdout.clone()),
            "file" => self.write(&format!("@{rest}"), contents),
            "columns" => {
                let [name, rows, values] = words(rest);
                let values: Vec<&str> = values.split(' ').collect();
                let rows: usize = rows.parse().unwrap();
                let mut text = "%%MatrixMarket matrix array real general\n".to_owned();
                text += &format!("{rows} {}\n", values.len());
                values
                    .iter()
                    .for_each(|value| text += &format!("{value}\n").repeat(rows));
                self.write(name, text)
            }
            "cut" => {
                let [name, bytes, other] = words(rest);
                let whole = std::fs::read(self.path(name)).map_err(|error| error.to_string())?;
                self.write(other, &whole[..bytes.parse().unwrap()])
            }
            "env" => {
                let (name, value) = rest.split_once('=').unwrap_or((rest, ""));
                self.variables.retain(|(known, _)| known != name);
                self.variables.push((name.to_owned(), value.to_owned()));
                Ok(())
            }
            _ => self.holds(line),
        }
    }

    /// What may also not hold.
    fn holds(&self, line: &str) -> Outcome {
        let (word, text) = line.split_once(' ').unwrap_or((line, ""));
        let holds = match word {
            "out" => self.last.stdout.contains(text),
            "err" => self.last.stderr.contains(text),
            "quiet" => self.last.stderr.is_empty(),
            "in" => {
                let [name, text] = words(text);
                self.read(name)?.contains(text)
            }
            _ => return Err(format!("`{word}` is no line of a case")),
        };
        if holds { Ok(()) } else { Err(self.report()) }
    }

    fn command(&mut self, status: i32, arguments: &str) -> Outcome {
        let (arguments, input) = arguments.split_once(" < ").unwrap_or((arguments, ""));
        let mut command = Command::new(env!("CARGO_BIN_EXE_vcycle"));
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        for word in arguments.split_whitespace() {
            match word.starts_with('@') {
                true => command.arg(self.path(word)),
                false => command.arg(word),
            };
        }
        self.last = match input {
            "" => run(&mut command),
            input => fed(&mut command, &std::fs::read(self.path(input)).unwrap()),
        };
        // Nothing is coloured in a pipe.
        let is_plain = !self.report().contains('\x1b');
        match self.last.status == status && is_plain {
            true => Ok(()),
            false => Err(self.report()),
        }
    }

    fn refuse(&mut self, rest: &str) -> Outcome {
        let (arguments, message) = rest.split_once(" | ").expect("a message after a bar");
        self.command(2, &format!("solve {arguments}"))?;
        let Run { stdout, stderr, .. } = &self.last;
        let is_one = stderr.starts_with("error: ") && stderr.matches("error:").count() == 1;
        if !is_one || !stdout.is_empty() || !stderr.contains(message) {
            return Err(self.report());
        }
        self.command(2, &format!("solve {arguments} --json"))?;
        let object = self.object()?;
        let error = object["error"].as_str().unwrap_or_default();
        match object["status"] == "error" && error.contains(message) {
            true => Ok(()),
            false => Err(self.report()),
        }
    }

    fn json(&self, rest: &str) -> Outcome {
        let (object, rest) = match rest.starts_with('@') {
            true => {
                let [name, rest] = words(rest);
                let read = serde_json::from_str(&self.read(name)?);
                (read.map_err(|error| error.to_string())?, rest)
            }
            false => (self.object()?, rest),
        };
        let [path, is, expected] = words(rest);
        let expected = match expected.strip_prefix('$') {
            Some(name) => self.kept[name].clone(),
            None => value(expected),
        };
        compared(&at(&object, path), is, &expected)
    }

    fn key(&self, key: &str) -> Outcome {
        let object = self.object()?;
        object.get(key).map(drop).ok_or(format!("{key} is missing"))
    }

    fn object(&self) -> Result<Value, String> {
        serde_json::from_str(&self.last.stdout)
            .map_err(|error| format!("{error}: {}", self.report()))
    }

    fn report(&self) -> String {
        let Run {
            status,
            stdout,
            stderr,
        } = &self.last;
        format!("status {status}\n{stdout}{stderr}")
    }

    fn path(&self, name: &str) -> PathBuf {
        scratch(&format!("{}{}", self.prefix, &name[1..]))
    }

    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// The numbers of a file that a solve has written.
    fn numbers(&self, name: &str) -> Result<Vec<f64>, String> {
        let text = self.read(name)?;
        let lines = text.lines().filter(|line| !line.starts_with('%'));
        let words = lines.skip(1).flat_map(str::split_whitespace);
        Ok(words.map(|word| word.parse().unwrap()).collect())
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) -> Outcome {
        std::fs::write(self.path(name), contents).map_err(|error| format!("{name}: {error}"))
    }
}

/// Words of a line; the last has all that is left.
fn words<const N: usize>(line: &str) -> [&str; N] {
    let words: Vec<&str> = line.splitn(N, ' ').collect();
    words
        .try_into()
        .unwrap_or_else(|_| panic!("{N} words: {line}"))
}

/// A number, text in quotation marks, or words.
fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| text.into())
}

fn at(object: &Value, path: &str) -> Value {
    let Some((key, rest)) = path
        .split_once('.')
        .or((!path.is_empty()).then_some((path, "")))
    else {
        return object.clone();
    };
    let all = object.as_array().map_or(&[][..], Vec::as_slice);
    match (key, key.parse::<usize>()) {
        ("#", _) => all.len().into(),
        ("*", _) => all.iter().map(|one| at(one, rest)).collect(),
        ("-1", _) => all.last().map_or(Value::Null, |last| at(last, rest)),
        (_, Ok(place)) => at(&object[place], rest),
        (key, Err(_)) => at(&object[key], rest),
    }
}

fn compared(found: &Value, is: &str, expected: &Value) -> Outcome {
    let numbers = || found.as_f64().zip(expected.as_f64());
    let holds = match is {
        "=" => found == expected || numbers().is_some_and(|(found, expected)| found == expected),
        "<" => numbers().is_some_and(|(found, expected)| found < expected),
        "<=" => numbers().is_some_and(|(found, expected)| found <= expected),
        ">" => numbers().is_some_and(|(found, expected)| found > expected),
        ">=" => numbers().is_some_and(|(found, expected)| found >= expected),
        "has" => found
            .to_string()
            .contains(expected.as_str().unwrap_or_default()),
        _ => match is.strip_prefix('~').and_then(|apart| apart.parse().ok()) {
            Some(apart) => {
                numbers().is_some_and(|(found, expected)| (found - expected).abs() <= apart)
            }
            None => panic!("`{is}` compares nothing"),
        },
    };
    match holds {
        true => Ok(()),
        false => Err(format!("{found} is not {is} {expected}")),
    }
}
