//! Linker arguments for a module that finds Python when it is loaded.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
