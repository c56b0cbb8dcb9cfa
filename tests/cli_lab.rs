//! `sinew lab` and `sinew muscle` from the user's point of view.

use std::path::{Path, PathBuf};

use crate::support;
use crate::support::character::{complaint, told};
use crate::support::fresh_folder;

fn strip() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scenes/muscle/lab_strip.toml");
    std::fs::read_to_string(path).expect("the strip")
}

fn figures(folder: &Path, protocol: &str) -> serde_json::Value {
    let said = support::character::sinew(folder, &["lab", protocol, "strip.toml", "-o", "out", "--json"]);
    assert!(said.status.success(), "{protocol}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{protocol}: {error}"))
}

/// A strip with uniform fibers reproduces its input curves: each protocol passes its `[lab.expect]`, which has closed
/// forms.
#[test]
fn a_strip_returns_what_was_put_in() {
    let folder = fresh_folder("lab_strip");
    std::fs::write(folder.join("strip.toml"), strip()).unwrap();
    for protocol in ["tension-length", "force-velocity", "quick-release", "isotonic", "twitch", "tetanus", "free"] {
        let said = figures(&folder, protocol);
        assert!(said.is_object(), "{protocol}: {said}");
        assert!(
            folder.join(format!("out/{protocol}.csv")).is_file()
                && folder.join(format!("out/{protocol}.html")).is_file()
        );
        // The program has checked `[lab.expect]`, or it would have failed; here it must have had something to check.
        let count = said["expectations"].as_array().map_or(0, Vec::len);
        assert!(count > 0 || protocol == "tetanus", "{protocol}: nothing was expected");
    }
}

/// The JSON object of a protocol on one of the scenes of the laboratory, with values replaced.
fn judged(folder: &Path, protocol: &str, scene: &str, sets: &[&str]) -> serde_json::Value {
    let scene = format!("{}/scenes/muscle/{scene}.toml", env!("CARGO_MANIFEST_DIR"));
    // Expectations hold for the values of the scene; they are not the subject here.
    let mut arguments = vec!["lab", protocol, &scene, "-o", "out", "--json", "--set", "lab.expect={}"];
    sets.iter().for_each(|set| arguments.extend(["--set", set]));
    let said = support::character::sinew(folder, &arguments);
    assert!(said.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&said.stderr));
    serde_json::from_slice(&said.stdout).unwrap_or_else(|error| panic!("{arguments:?}: {error}"))
}

fn warns_of(said: &serde_json::Value, words: &str) -> bool {
    said["warnings"].as_array().expect("warnings").iter().any(|text| text.as_str().unwrap_or("").contains(words))
}

/// Each warning has a scene that deserves it and one that does not.
#[test]
fn doubts_are_told_where_they_are_due() {
    let folder = fresh_folder("lab_doubts");
    let few = "lab.count=5";
    for (warning, word, protocol, [scene, sound], sets, sound_sets) in [
        ("fibers are unstable", "unstable", "tension-length", ["lab_fusiform", "lab_strip"], vec![few], vec![few]),
        (
            "fibers are faster than `max_velocity`",
            "fast",
            "quick-release",
            ["lab_strip", "lab_strip"],
            vec!["lab.duration=\"10 ms\""],
            // A fifth of the fibers in 0.1 s is 2 lengths per second, and they can do 5.
            vec!["lab.release_time=\"100 ms\"", "lab.duration=\"10 ms\""],
        ),
        (
            "fibers leave the range of the force curves",
            "range",
            "tension-length",
            ["lab_strip", "lab_strip"],
            vec![few, "lab.lengths=[1.0, 1.8]"],
            vec![few, "lab.lengths=[1.0, 1.6]"],
        ),
        (
            "the clamp pushes",
            "pushes",
            "tension-length",
            ["lab_strip", "lab_strip"],
            vec![few, "lab.lengths=[0.8, 1.2]"],
            vec![few, "lab.lengths=[1.0, 1.2]"],
        ),
    ] {
        let doubtful = judged(&folder, protocol, scene, &sets);
        let csv = std::fs::read_to_string(folder.join(format!("out/{protocol}.csv"))).unwrap();
        assert!(warns_of(&doubtful, warning), "{warning}: {doubtful}");
        assert!(csv.lines().next().unwrap().ends_with(",doubts"));
        let is_marked = |line: &&str| line.rsplit(',').next().unwrap().split(' ').any(|doubt| doubt == word);
        let marked = csv.lines().skip(1).filter(is_marked).count();
        assert!(marked > 0 && marked < csv.lines().count(), "{word}: {csv}");
        let counted = doubtful["figures"]["doubtful_points"].as_f64().unwrap();
        assert_eq!(counted > 0.0, word != "pushes", "{doubtful}");
        assert_eq!(doubtful["grade"] == "doubtful", word != "pushes", "{doubtful}");
        let sound = judged(&folder, protocol, sound, &sound_sets);
        assert!(!warns_of(&sound, warning) && sound["grade"] == "sound", "{warning}: {sound}");
    }
}

/// The first example of a physiologist: a spindle with thin tendons lacks a fifth of its force, and every place says why.
#[test]
fn a_lost_force_is_explained() {
    let folder = fresh_folder("lab_far_force");
    let spindle = judged(&folder, "tension-length", "lab_fusiform", &[]);
    let verdict = spindle["verdict"].as_str().unwrap();
    for part in ["of 9 points are not to be trusted", "fibers are unstable", "below stress × PCSA"] {
        assert!(verdict.contains(part), "{part}: {verdict}");
    }
    assert!(warns_of(&spindle, "its thinnest section has 61 % of the mean cross-section"), "{spindle}");
    let page = std::fs::read_to_string(folder.join("out/tension-length.html")).unwrap();
    let (place, plots) = (page.find("not to be trusted").unwrap(), page.find("<svg").unwrap());
    assert!(place < plots && page.contains("class=\"line s5 crosses\"") && page.contains("thinnest section"));
    let manifest = std::fs::read_to_string(folder.join("out/manifest.json")).unwrap();
    assert!(manifest.contains("thinnest section"), "{manifest}");
    let thick = judged(&folder, "tension-length", "lab_fusiform", &["body.muscle.mesh.tendon_width=\"22 mm\""]);
    assert!(!warns_of(&thick, "below stress × PCSA"), "{thick}");
    let strip = judged(&folder, "tension-length", "lab_strip", &[]);
    assert!(!warns_of(&strip, "stress × PCSA"), "{strip}");
    assert!(strip["verdict"].as_str().unwrap().starts_with("the muscle behaves as an ideal one within 0."), "{strip}");
    assert!(strip["figures"]["ideal_difference"].as_f64().unwrap() < 0.01);
}

/// A verdict comes first, and figures have four significant digits; JSON has them all.
#[test]
fn the_console_is_short() {
    let folder = fresh_folder("lab_console");
    std::fs::write(folder.join("strip.toml"), strip()).unwrap();
    let said = support::character::sinew(&folder, &["lab", "tension-length", "strip.toml", "--no-files"]);
    let said = String::from_utf8(said.stdout).unwrap();
    let mut lines = said.lines();
    assert!(lines.next().unwrap().starts_with("verdict: the muscle behaves as an ideal one"), "{said}");
    let mut count = 0;
    for line in lines {
        let value = line.split_whitespace().nth(1).unwrap();
        let mantissa = value.split('e').next().unwrap();
        let digits = mantissa.trim_start_matches(['-', '0', '.']).replace('.', "");
        assert!(digits.trim_end_matches('0').len() <= 4 || value.parse::<u64>().is_ok(), "{line}");
        count += 1;
    }
    assert!(count > 10, "{said}");
    assert!(said.contains(" 29.87  N"), "{said}");
    let exact = figures(&folder, "tension-length");
    assert!(exact["figures"]["peak_force"].to_string().len() > 8, "{exact}");
}

/// Seen: fibers of a uniform strip under a load had 0.83 to 1.5 optimal lengths. Should be: all alike. Why: the nodes
/// of the clamp shared the load equally, though those at corners stand for a quarter of the area of inner ones.
#[test]
fn loads_pull_all_fibers_alike() {
    let folder = fresh_folder("lab_loads");
    let said = judged(&folder, "force-velocity", "lab_strip", &[]);
    let csv = std::fs::read_to_string(folder.join("out/force-velocity.csv")).unwrap();
    for line in csv.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let [shortest, longest] = [7, 8].map(|k| cells[k].parse::<f64>().unwrap());
        assert!(longest - shortest < 1e-6, "{csv}");
    }
    assert!(said["figures"]["largest_error"].as_f64().unwrap() < 3e-3, "{said}");
}

/// Measured data: what the strip gave before, two newtons higher, is two newtons off.
#[test]
fn data_are_drawn_beside() {
    let folder = fresh_folder("lab_beside");
    std::fs::write(folder.join("strip.toml"), strip()).unwrap();
    judged(&folder, "tension-length", "lab_strip", &[]);
    let csv = std::fs::read_to_string(folder.join("out/tension-length.csv")).unwrap();
    let rows = csv.lines().skip(1).map(|line| line.split(',').map(String::from).collect::<Vec<_>>());
    let rows: Vec<Vec<String>> = rows.collect();
    let mut data = String::from("# before\nlength, developed_force [mN], passive_force [N]\n");
    for row in &rows {
        let developed: f64 = row[4].parse().unwrap();
        data += &format!("{}, {}, {}\n", row[6], (developed + 2.0) * 1e3, row[2]);
    }
    data += "3, 5000,\n";
    std::fs::write(folder.join("data.csv"), &data).unwrap();
    let arguments = ["lab", "tension-length", "strip.toml", "--json", "-o", "out", "--beside", "data.csv"];
    let said = support::character::sinew(&folder, &arguments);
    let said: serde_json::Value = serde_json::from_slice(&said.stdout).expect("JSON");
    let figure = |name: &str| said["figures"][name].as_f64().unwrap_or(f64::NAN);
    assert!((figure("data_difference") - 2.0).abs() < 1e-6, "{said}");
    // Half of the compared values are 2 N off, of 31.7 N at most; the others agree.
    let largest = rows.iter().map(|row| row[4].parse::<f64>().unwrap() + 2.0).fold(0.0, f64::max);
    assert!((figure("relative_data_difference") - 2.0 / largest / 2f64.sqrt()).abs() < 1e-6, "{said}");
    assert!(warns_of(&said, "1 of 10 points of the measured `developed_force` lie outside"), "{said}");
    let page = std::fs::read_to_string(folder.join("out/tension-length.html")).unwrap();
    for words in ["Measured data: developed_force", ">developed_force [N]<", ">passive_force [N]<"] {
        assert!(page.contains(words), "{words}");
    }

    let expecting = |limit: &str| {
        let scene = strip().replace(
            "[lab.expect.tension-length]",
            &format!("[lab.beside]\ntension-length = \"data.csv\"\n[lab.expect.tension-length]\ndata_difference = {{ max = \"{limit}\" }}"),
        );
        std::fs::write(folder.join("strip.toml"), scene).unwrap();
        support::character::sinew(&folder, &["lab", "tension-length", "strip.toml", "--no-files"]).status.code()
    };
    assert_eq!((expecting("2.1 N"), expecting("1.9 N")), (Some(0), Some(1)));
}

#[test]
fn wrong_data_are_told_with_their_cause() {
    let folder = fresh_folder("lab_wrong_data");
    std::fs::write(folder.join("strip.toml"), strip()).unwrap();
    let arguments = ["lab", "tension-length", "strip.toml", "--no-files", "--beside", "data.csv"];
    complaint(&folder, &arguments, &["data.csv: cannot be read"]);
    let rows = "\n0.8,1\n1,2\n1.2,1\n";
    for (text, causes) in [
        (String::new(), vec!["data.csv: the table is empty"]),
        (
            format!("length,develped_force{rows}"),
            vec!["the protocol `tension-length` has no value", "did you mean `developed_force`"],
        ),
        (
            format!("length,developed_force [kPa]{rows}"),
            vec!["is in kPa, but the value of the protocol `tension-length` is in N"],
        ),
        (format!("length [mm],developed_force{rows}"), vec!["`length` is in mm", "is a plain number"]),
        (format!("time,developed_force{rows}"), vec!["the protocol `tension-length` does not run over `time`"]),
        (format!("load_fraction,total{rows}"), vec!["has no value `load_fraction`", "has no value `total`"]),
        ("length,developed_force\n1,2\n1.1,\n".into(), vec!["has 1 measured value, too few: a comparison needs 3"]),
        (
            "length,developed_force\n1,0\n1.1,0\n1.2,0\n".into(),
            vec!["all values of the column `developed_force` are zero"],
        ),
        (
            "length,developed_force\n1,two\n1.1,1,1\n".into(),
            vec!["line 2: `two` is not a number", "line 3 has 3 columns"],
        ),
    ] {
        std::fs::write(folder.join("data.csv"), text).unwrap();
        complaint(&folder, &arguments, &causes);
    }
    let scene = strip().replace("peak_length = {", "data_difference = { max = 1 }\npeak_length = {");
    std::fs::write(folder.join("strip.toml"), scene).unwrap();
    let without = ["lab", "tension-length", "strip.toml", "--no-files"];
    complaint(&folder, &without, &["there are no measured data to compare with", "--beside"]);
    // Data are an input, and no output replaces it.
    std::fs::write(folder.join("tension-length.csv"), format!("length,developed_force{rows}")).unwrap();
    let over = ["lab", "tension-length", "strip.toml", "-o", ".", "--beside", "tension-length.csv"];
    complaint(&folder, &over, &["tension-length.csv"]);
}

#[test]
fn what_cannot_be_examined_is_told() {
    let folder = fresh_folder("lab_wrong");
    let write = |text: &str| std::fs::write(folder.join("strip.toml"), text).unwrap();
    write(&strip());
    complaint(&folder, &["lab", "tension-lenght", "strip.toml"], &["tension-lenght", "tension-length"]);
    write(&strip().replace("max_velocity = \"5 1/s\", ", ""));
    complaint(&folder, &["lab", "force-velocity", "strip.toml"], &["does not depend on speed"]);
    write(&strip().replace("axis = [1, 0, 0]", "axis = [1, 0, 0]\nclamp = \"heel\""));
    complaint(&folder, &["lab", "twitch", "strip.toml"], &["heel"]);
    write(&strip().replace("axis = [1, 0, 0]", "axis = [1, 0, 0]\nmuscle = \"biceps\""));
    complaint(&folder, &["lab", "twitch", "strip.toml"], &["biceps", "belly"]);
}

#[test]
fn curves_are_printed_and_drawn() {
    let folder = fresh_folder("muscle_curves");
    let said = told(&folder, &["muscle", "curves", "--points", "11", "-o", "curves"]);
    assert!(said.contains("curves.csv") && said.contains("curves.html"), "{said}");
    let csv = std::fs::read_to_string(folder.join("curves/curves.csv")).unwrap();
    assert_eq!(csv.lines().count(), 1 + 8 * 11);
    let page = std::fs::read_to_string(folder.join("curves/curves.html")).unwrap();
    assert_eq!(page.matches("<svg").count(), 4);
}

/// Curves of another program are drawn beside ours, with the differences; an invalid table is reported with its line.
#[test]
fn foreign_curves_are_drawn_beside_the_known_ones() {
    let folder = fresh_folder("foreign_curves");
    let write = |text: &str| std::fs::write(folder.join("theirs.csv"), text).unwrap();
    write("kind,curve,x,force\nactive,\"theirs\",0.5,0\nactive,\"theirs\",1,1\nactive,\"theirs\",1.5,0\n");
    told(&folder, &["muscle", "curves", "-o", "out", "--beside", "theirs.csv"]);
    let page = std::fs::read_to_string(folder.join("out/curves.html")).unwrap();
    assert!(page.contains("Active force over length: differences") && page.contains("Blemker 2005 − theirs"));
    assert!(!page.contains("Tendon force over strain: differences"));
    for (text, cause) in [
        ("kind,curve,x,force\nactive,theirs,1\n", "line 2: a line has four columns"),
        ("kind,curve,x,force\nactiv,theirs,1,1\n", "`activ` is not a kind of curve"),
        ("kind,curve,x,force\nactive,theirs,1,one\n", "`one` is not a number"),
        ("kind,curve,x,force\nactive,theirs,1,1\nactive,theirs,1,2\n", "curve `theirs`"),
    ] {
        write(text);
        complaint(&folder, &["muscle", "curves", "--beside", "theirs.csv"], &[cause]);
    }
}

/// Bad muscles of scenes: each is explained at its cause.
#[test]
fn bad_muscles_are_told_with_their_cause() {
    let folder = fresh_folder("bad_muscles");
    let check = |from: &str, to: &str, words: &[&str]| {
        let text = strip();
        assert!(text.contains(from), "{from}");
        std::fs::write(folder.join("strip.toml"), text.replace(from, to)).unwrap();
        complaint(&folder, &["check", "strip.toml"], words);
    };
    let muscle = "max_velocity = \"5 1/s\"";
    check("fibers = { along = [1, 0, 0] }, ", "", &["no fiber directions", "along"]);
    check("along = [1, 0, 0]", "along = [0, 0, 0]", &["along"]);
    check("along = [1, 0, 0]", "field = \"fiber\"", &["no field \"fiber\""]);
    check("[\"1 s\", 1]", "[\"1 s\", 1.5]", &["1.5"]);
    check(muscle, "optimal_stretch = 0", &["optimal_stretch", "positive"]);
    check(muscle, "active_curve = [[1, 1], [0.5, 0]]", &["active_curve", "abscissa 0.5"]);
    check(muscle, "velocity_curve = [[-1, 0], [0, 1]]", &["max_velocity"]);
    check(
        "type = \"muscle\"",
        "type = \"linear\", young = \"1 kPa\", poisson = 0.3",
        &["linear", "not support muscle fibers"],
    );
    check(
        "fibers = { along = [1, 0, 0] }",
        "fibers = { between = { from = \"x-min\", to = \"x-max\", pennation = \"90 deg\" } }",
        &["pennation"],
    );
    check(
        "{ from = \"box\", size = [\"6 cm\", \"1 cm\", \"1 cm\"], cells = [12, 2, 2], element = \"hex8\" }",
        "{ from = \"muscle\", shape = \"fusiform\", length = \"5 cm\", tendon = [\"4 cm\", \"4 cm\"], cell = \"4 mm\" }",
        &["tendon"],
    );
}
