#![no_main]
libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sinew_io::image::contours::fuzz_one(bytes));
