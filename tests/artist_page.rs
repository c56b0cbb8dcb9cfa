//! The artist's report of a run with a character: the page shows the facts of `report.json`, also after a run was
//! killed and resumed.

use std::ops::ControlFlow;
use std::path::Path;

use crate::support;
use serde_json::Value;
use sinew::prelude::*;

/// Number of computed frames: the arm begins to bend in them.
const FRAMES: usize = 9;

/// The arm of the gallery with coarse cells; only the report is written.
fn arm(more: &[&str]) -> Scene {
    let sets = [
        "body.arm.mesh.cell=\"2.4 cm\"",
        "body.arm.rig.preroll=\"0.125 s\"",
        "duration=\"0.375 s\"",
        "record.skin=[]",
        "record.size=[64, 48]",
    ];
    let overrides: Vec<_> = sets.iter().chain(more).map(|set| sinew::scene::Override::from(set.to_string())).collect();
    let path = support::root().join("scenes/character/arm.toml");
    let mut scene = Scene::load_with(path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    scene.expect.clear();
    scene
}

fn options(folder: &Path, resume: bool) -> RunOptions {
    RunOptions { output: Some(folder.into()), checkpoint: Some(0.0), resume, ..RunOptions::default() }
}

/// Page and facts of a run.
fn read(folder: &Path) -> (String, Value) {
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    let facts = std::fs::read_to_string(folder.join("report.json")).expect("facts");
    let facts: Value = serde_json::from_str(&facts).expect("JSON");
    (page, facts["characters"].clone())
}

/// The picture with this caption on the page.
fn picture_before<'a>(page: &'a str, caption: &str) -> &'a str {
    let end = page.find(&format!("\"><figcaption>{caption}</figcaption>"));
    let before = &page[..end.unwrap_or_else(|| panic!("no picture of {caption}"))];
    before.rsplit("src=\"").next().unwrap_or_default()
}

/// The facts that do not depend on the machine.
fn lasting(facts: &Value) -> Value {
    let mut facts = facts.clone();
    let all = facts.as_object_mut().expect("an object");
    all.remove("time");
    // Advice on timing depends on the speed of the machine.
    if let Some(advice) = all.get_mut("advice").and_then(Value::as_array_mut) {
        advice.retain(|advice| !advice["finding"].as_str().is_some_and(|finding| finding.contains("of the time")));
    }
    facts
}

#[test]
fn the_page_shows_what_the_facts_say() {
    let folder = support::fresh_folder("artist-page");
    let outcome = run(&arm(&[]), &options(&folder, false), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.frames, FRAMES);
    let (page, facts) = read(&folder);
    // As text: numbers read from text may differ in the last bit.
    let told: Value = serde_json::from_str(&outcome.to_json()["characters"].to_string()).expect("JSON");
    assert_eq!(lasting(&told), lasting(&facts));

    // Seven pictures of the strip from the first frame to the last, three layers, two ways to move the skin, and the
    // stretch map from two sides.
    let strip = facts["strip"].as_array().expect("a list");
    let frames: Vec<u64> = strip.iter().filter_map(|picture| picture["frame"].as_u64()).collect();
    assert_eq!((frames.len(), frames[0], frames[6]), (7, 0, FRAMES as u64), "{frames:?}");
    assert!(frames.windows(2).all(|pair| (1..=2).contains(&(pair[1] - pair[0]))), "{frames:?}");
    assert_eq!(page.matches("src=\"data:image/png;base64,iVBOR").count(), 14);
    for frame in &frames {
        assert!(page.contains(&format!("<figcaption><b>{frame}</b>")), "frame {frame}");
    }

    // The layers: bones, cells and skin, three different pictures.
    let body = &facts["bodies"][0];
    let (bones, cells) = (body["bones"].as_u64().expect("a count"), body["cells"].as_u64().expect("a count"));
    let triangles = body["skin_triangles"].as_u64().expect("a count");
    assert!(bones >= 3 && triangles > 1000, "{bones} bones, {triangles} triangles");
    let captions =
        [format!("{bones} bones"), format!("{cells} cells of 24 mm"), format!("skin of {triangles} triangles")];
    let shown = captions.map(|caption| picture_before(&page, &caption));
    assert!(shown[0] != shown[1] && shown[1] != shown[2] && shown[2] != shown[0]);

    // Blend skinning and flesh in one frame: the last one, because the elbow continues to bend.
    let comparison = &body["comparison"];
    assert_eq!(comparison["frame"], FRAMES);
    let [mean, most] = ["distance", "farthest"].map(|name| comparison[name].as_f64().expect("a number"));
    assert!(mean > 1e-4 && most > mean && most < 0.1, "{mean} {most}");
    assert!(page.contains(&format!("Frame {FRAMES}, in which they differ most")));
    assert_ne!(picture_before(&page, "blend skinning"), picture_before(&page, "flesh"));

    // Every joint with flesh is a region of the page.
    let regions = body["regions"].as_array().expect("a list");
    let cells: u64 = regions.iter().filter_map(|region| region["cells"].as_u64()).sum();
    assert_eq!(cells, body["cells"].as_u64().expect("a count"), "each cell is in one region");
    for region in regions {
        let (name, change) = (region["name"].as_str().expect("a name"), region["volume_change"]["value"].as_f64());
        let change = 100.0 * change.expect("a number");
        assert!(change.abs() < 20.0, "{name}: {change} %");
        assert!(page.contains(&format!("<td>{name}</td><td class=\"number\">{change:+.2} %</td>")), "{name}: {change}");
    }
    let names: Vec<&str> = regions.iter().filter_map(|region| region["name"].as_str()).collect();
    assert_eq!(names, ["clavicle", "elbow", "shoulder", "wrist"]);

    // Nothing intersects behind a barrier, according to the check of the scene and that of the page.
    assert_eq!(facts["crossing"]["triangle_pairs"]["value"], 0);
    assert_eq!(facts["crossing"]["depth"]["value"], 0.0);
    assert_eq!(facts["crossing"]["frames_checked"], FRAMES + 1);
    let most = body["stretch"]["most"].as_f64().expect("a number");
    let largest = body["stretch"]["largest"].as_f64().expect("a number");
    assert!(most > 1.0 && largest >= most && page.contains(&format!("no more than {most:.2}")), "{most} {largest}");
    let advice = facts["advice"].as_array().expect("a list");
    assert_eq!(page.contains("all is well"), advice.is_empty());
    // Pictures are long runs of arbitrary letters.
    let is_end = |letter: char| !(letter.is_ascii_alphanumeric() || "+/=".contains(letter));
    let words: String = page.split_inclusive(is_end).filter(|word| word.len() < 100).collect();
    assert!(words.contains("no more than") && !words.contains("iVBOR"));
    for word in ["NaN", "inf<", "Infinity", "null%"] {
        assert!(!words.contains(word), "{word}");
    }

    // The check of the page does not depend on that of the scene.
    let unchecked = support::fresh_folder("artist-unchecked");
    let scene = arm(&["contact.check=false"]);
    run(&scene, &options(&unchecked, false), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    let (_, again) = read(&unchecked);
    assert_eq!(again["crossing"], facts["crossing"]);
    assert_eq!(again["bodies"], facts["bodies"]);
}

/// The demo with coarse cells, until the fist is closed: contact keeps flesh apart where blend skinning intersects, and
/// the page shows both.
#[test]
fn a_fist_is_shown_by_blend_skinning_and_with_flesh() {
    let folder = support::fresh_folder("artist-fist");
    let sets = [
        "body.hand.mesh.cell=\"9 mm\"",
        "duration=\"0.9166667 s\"",
        "record={ size = [64, 48] }",
        // The page still looks for intersections, and for the depth in two frames.
        "contact.check=false",
    ];
    let overrides: Vec<_> = sets.iter().map(|set| sinew::scene::Override::from(set.to_string())).collect();
    let path = support::root().join("scenes/character/fist_large.toml");
    let mut scene = Scene::load_with(path, &overrides).unwrap_or_else(|error| panic!("{error}"));
    scene.expect.clear();
    let outcome = run(&scene, &options(&folder, false), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(outcome.frames, 22);
    let (page, facts) = read(&folder);
    assert_eq!(facts["crossing"]["triangle_pairs"]["value"], 0);
    assert_eq!(facts["crossing"]["depth"]["value"], 0.0);
    let body = &facts["bodies"][0];
    assert_eq!(body["inverted_cells"]["value"], 0);
    assert!(body["blend_skinning"]["triangle_pairs"]["value"].as_u64() > Some(100), "{}", body["blend_skinning"]);
    let comparison = &body["comparison"];
    assert!(comparison["contacts"].as_u64() > Some(100), "{comparison}");
    assert!(comparison["farthest"].as_f64() > Some(0.003), "{comparison}");
    assert_ne!(picture_before(&page, "blend skinning"), picture_before(&page, "flesh"));
}

/// Without contact nothing keeps flesh apart; intersections are counted nevertheless.
#[test]
fn flesh_that_may_pass_through_itself_is_looked_at_too() {
    let folder = support::fresh_folder("artist-free");
    let scene = arm(&["contact.mode=\"none\"", "contact.check=false"]);
    run(&scene, &options(&folder, false), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    let (page, facts) = read(&folder);
    assert!(facts["crossing"]["depth"].is_null() && facts["crossing"]["triangle_pairs"]["value"].is_u64());
    assert!(facts["bodies"][0]["blend_skinning"].is_null());
    assert!(page.contains("not measured"));
}

/// Stops after some frames, as Ctrl-C does.
struct Stop(usize);

impl Observer for Stop {
    fn frame(&mut self, done: usize, _: usize, _: &StepReport) -> ControlFlow<()> {
        if done == self.0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

#[test]
fn a_run_that_was_taken_up_again_tells_the_same() {
    let (whole, broken) = (support::fresh_folder("artist-whole"), support::fresh_folder("artist-broken"));
    let scene = arm(&["contact.check=false", "record.every=2"]);
    run(&scene, &options(&whole, false), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    run(&scene, &options(&broken, false), &mut Stop(5)).unwrap_or_else(|error| panic!("{error}"));
    let (_, early) = read(&broken);
    let last = early["strip"].as_array().and_then(|strip| strip.last()).expect("a picture");
    assert_eq!(last["frame"], 4, "the last picture shows where it stopped");
    let outcome = run(&scene, &options(&broken, true), &mut ()).unwrap_or_else(|error| panic!("{error}"));
    assert_eq!((outcome.resumed, outcome.frames), (1, FRAMES));
    let ((whole_page, expected), (page, found)) = (read(&whole), read(&broken));
    assert_eq!(lasting(&found), lasting(&expected));
    let pictures = |page: &str| {
        page.split("src=\"").skip(1).map(|rest| rest.split('"').next().unwrap_or("").to_string()).collect::<Vec<_>>()
    };
    assert_eq!(pictures(&page), pictures(&whole_page));
}
