//! `sinew manual`: man pages, generated from the help texts.

use std::path::PathBuf;

use clap::{Command, CommandFactory};
use clap_mangen::Man;
use sinew_record::record::write_file;

use super::console::{self, Console};
use super::{Failure, Status};

/// Writes man pages, one per command, or prints the main page
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Folder for the pages, for example ~/.local/share/man/man1
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}

/// Runs the command.
pub fn execute(arguments: &Arguments, console: Console) -> Result<Status, Failure> {
    let mut command = super::Arguments::command();
    command.build();
    let Some(folder) = &arguments.output else {
        let page = page(command, "sinew")?;
        console::print(&String::from_utf8_lossy(&page))?;
        return Ok(Status::Done);
    };
    let mut pages = Vec::new();
    collect("sinew", &command, &mut pages)?;
    for (name, page) in &pages {
        let path = folder.join(format!("{name}.1"));
        write_file(path, page).map_err(|error| Failure::Other(error.to_string()))?;
    }
    console.note(&format!("wrote {} pages to {}", pages.len(), folder.display()));
    Ok(Status::Done)
}

/// Adds a page for the command and for each subcommand except `help`.
fn collect(name: &str, command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> Result<(), Failure> {
    pages.push((name.to_string(), page(command.clone(), name)?));
    for below in command.get_subcommands().filter(|below| below.get_name() != "help") {
        collect(&format!("{name}-{}", below.get_name()), below, pages)?;
    }
    Ok(())
}

fn page(command: Command, name: &str) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let man = Man::new(command.display_name(name.to_string()))
        .title(name.to_uppercase())
        .source(concat!("sinew ", env!("CARGO_PKG_VERSION")))
        .manual("Sinew");
    man.render(&mut bytes).map_err(|source| Failure::Write { what: format!("the page {name}"), source })?;
    Ok(bytes)
}
