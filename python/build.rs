//! Linker arguments for an extension module that resolves Python symbols at load time.

fn main() {
    pyo3_build_config::add_extension_module_link_args();
}
