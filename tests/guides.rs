//! The commands of the pages run as printed, page by page, in a folder of their own.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::support::{fresh_folder, read, root};

/// Code blocks of a page in the given language.
fn blocks(page: &str, language: &str) -> Vec<String> {
    let text = read(page);
    let pieces = text.split("```").skip(1).step_by(2);
    pieces.filter_map(|piece| piece.strip_prefix(language)?.strip_prefix('\n')).map(String::from).collect()
}

/// Blocks of shell that only start our program: everything that needs no other one.
fn scripts(page: &str) -> Vec<String> {
    let is_ours = |script: &String| {
        let commands = ["sinew ", "for ", "done"];
        let mut begins = script.lines().filter(|line| !line.starts_with(' '));
        begins.all(|line| commands.iter().any(|command| line.starts_with(command.trim_end())))
    };
    blocks(page, "sh").into_iter().filter(is_ours).collect()
}

/// Runs the scripts of a page one after the other.
fn run_page(page: &str, prepare: impl Fn(&Path)) {
    let scripts = scripts(page);
    assert!(!scripts.is_empty(), "{page} has no commands: has their form changed?");
    let folder = fresh_folder(&format!("guide-{}", page.replace(['/', '.'], "-")));
    std::os::unix::fs::symlink(root().join("scenes"), folder.join("scenes")).expect("a link");
    prepare(&folder);
    let programs = Path::new(env!("CARGO_BIN_EXE_sinew")).parent().expect("a folder");
    let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap_or_default());
    for script in scripts {
        // A tenth of the motion in coarse cells shows as much as all of it, which takes minutes.
        let coarse = "--cell 4cm --duration 0.1s --no-pictures";
        let script = script
            .replace("--animation curl", "--animation curl --duration 0.2s")
            .replace("--motion poses --seconds 25", "--motion poses --seconds 2 --edge 3cm")
            .replace("--correctives", &format!("{coarse} --correctives"))
            .replace("torso.glb --motion", &format!("torso.glb {coarse} --motion"))
            // Pictures of shots take most of the time; `tests/shots.rs` looks at some.
            .replace("--sweep --preview", "--sweep --preview --duration 0.1s --no-pictures")
            .replace("sinew character hand", "sinew character hand --edge 5mm")
            .replace("--jiggle", "--no-pictures --jiggle")
            // 21 runs.
            .replace("sinew fit bar.toml", "sinew fit bar.toml --set 'body.bar.mesh.cell=\"12.5 mm\"'")
            .replace(
                "run scenes/basics/ring.toml",
                "run scenes/basics/ring.toml --frames 12 --set expect={} --no-pictures",
            );
        let output = Command::new("sh").args(["-e", "-c", &script]).current_dir(&folder).env("PATH", &path).output();
        let output = output.expect("a shell");
        assert!(output.status.success(), "{page}:\n{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// The scene of a page, under the name in its first line.
fn write_scene(page: &str, name: &str, folder: &Path) {
    let scene = blocks(page, "toml").into_iter().find(|text| text.contains("[[body]]"));
    std::fs::write(folder.join(name), scene.unwrap_or_else(|| panic!("{page} has no scene"))).expect("a scene");
}

#[test]
fn readme() {
    run_page("README.md", |folder| write_scene("README.md", "block.toml", folder));
}

#[test]
fn first_flesh() {
    let page = "docs/guide/first-flesh.md";
    run_page(page, |folder| write_scene(page, "block.toml", folder));
}

#[test]
fn anatomy() {
    run_page("docs/guide/anatomy.md", |_| ());
}

#[test]
fn long_runs() {
    run_page("docs/guide/long-runs.md", |folder| write_scene("README.md", "long.toml", folder));
}

#[test]
fn from_mesh_generators() {
    run_page("docs/guide/from-mesh-generators.md", |folder| {
        write_scene("README.md", "block.toml", folder);
        let sinew = |words: &[&str]| {
            let output = Command::new(env!("CARGO_BIN_EXE_sinew")).args(words).current_dir(folder).output();
            assert!(output.expect("the program starts").status.success(), "{words:?}");
        };
        // Any volume will do.
        sinew(&[
            "run",
            "block.toml",
            "-q",
            "--no-pictures",
            "--frames",
            "1",
            "--set",
            "record.vtu=true",
            "--set",
            "expect={}",
        ]);
        let cells = std::fs::read_dir(folder.join("out/block/cells")).expect("a folder").flatten().next();
        let cells = cells.expect("a file").path().display().to_string();
        sinew(&["mesh", "convert", &cells, "bar.msh"]);
    });
}

#[test]
fn compare_sweep_fit() {
    let page = "docs/guide/compare-sweep-fit.md";
    run_page(page, |folder| {
        let data = blocks(page, "text").into_iter().find(|text| text.starts_with("time")).expect("measured data");
        std::fs::write(folder.join("pull.csv"), data).expect("a table");
    });
}

#[test]
fn editors() {
    run_page("docs/guide/editors.md", |_| ());
}

#[test]
fn gradients() {
    run_page("docs/guide/gradients.md", |_| ());
}

#[test]
fn into_other_programs() {
    for page in ["into-blender", "into-houdini-and-usd", "into-paraview"] {
        run_page(&format!("docs/guide/{page}.md"), |_| ());
    }
}

#[test]
fn figures() {
    run_page("docs/guide/figures.md", |_| ());
}

#[test]
fn muscle_laboratory() {
    let page = "docs/guide/muscle-laboratory.md";
    run_page(page, |folder| {
        let data = blocks(page, "csv").into_iter().next().expect("measured data");
        std::fs::write(folder.join("measured.csv"), data).expect("a table");
    });
}

#[test]
fn skinning() {
    run_page("docs/guide/skinning.md", |_| ());
}

#[test]
fn many_shots() {
    run_page("docs/guide/many-shots.md", |_| ());
}

#[test]
fn correctives() {
    run_page("docs/guide/correctives.md", |_| ());
}

#[test]
fn motion() {
    let page = "docs/guide/motion.md";
    run_page(page, |folder| {
        let poses = blocks(page, "text").into_iter().find(|text| text.contains("[pose.hello]")).expect("poses");
        std::fs::write(folder.join("poses.toml"), poses.replace("\"tail.001\"", "# \"tail.001\"")).expect("poses");
        for words in [
            ["character", "torso", "--edge", "3 cm", "-o", "torso.glb"],
            ["character", "torso", "--motion", "twist", "-o", "dance.bvh"],
        ] {
            let output = Command::new(env!("CARGO_BIN_EXE_sinew")).args(words).current_dir(folder).output();
            assert!(output.expect("the program starts").status.success(), "{words:?}");
        }
    });
}

#[test]
fn art_direction() {
    run_page("docs/guide/art-direction.md", |_| ());
}
