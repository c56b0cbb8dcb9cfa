#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sinew_io::image::nifti::fuzz_one(bytes));
