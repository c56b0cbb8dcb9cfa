//! The program `sinew`; everything is in [`sinew::cli`].

fn main() -> std::process::ExitCode {
    sinew::cli::main()
}
