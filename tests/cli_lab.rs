//! `sinew lab` and `sinew muscle` from the user's point of view.

mod support;

use std::path::{Path, PathBuf};

use support::character::{complaint, told};
use support::fresh_folder;

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
