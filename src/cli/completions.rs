//! `sinew completions`: completion of commands and options in a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use super::{Failure, Status, console};

/// Prints shell completions
///
/// bash: sinew completions bash > ~/.local/share/bash-completion/completions/sinew
/// zsh:  sinew completions zsh > "${fpath[1]}/_sinew"
/// fish: sinew completions fish > ~/.config/fish/completions/sinew.fish
#[derive(Debug, clap::Args)]
#[command(verbatim_doc_comment)]
#[allow(rustdoc::broken_intra_doc_links, reason = "`fpath[1]` belongs to zsh")]
pub struct Arguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Runs the command.
pub fn execute(arguments: &Arguments) -> Result<Status, Failure> {
    let mut bytes = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "sinew", &mut bytes);
    console::print(&String::from_utf8_lossy(&bytes))?;
    Ok(Status::Done)
}
