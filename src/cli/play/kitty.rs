//! Pictures in the kitty graphics protocol: PNG in base64, in pieces of 4096 characters.

use sinew_io::base64;
use sinew_raster::Image;
use sinew_record::record::encode_png;

/// Maximum size of a piece.
const PIECE: usize = 4096;

/// The picture on `columns` × `rows` characters. Keeps the cursor and replaces the previous picture.
pub fn encode(image: &Image, columns: usize, rows: usize) -> String {
    let data = base64::encode(&encode_png(image));
    let pieces: Vec<&str> = data.as_bytes().chunks(PIECE).filter_map(|piece| std::str::from_utf8(piece).ok()).collect();
    let mut text = String::with_capacity(data.len() + 64 * pieces.len());
    for (number, piece) in pieces.iter().enumerate() {
        let more = usize::from(number + 1 < pieces.len());
        text += "\x1b_G";
        if number == 0 {
            // Send and show (a=T) a PNG (f=100) as image 1, without replies (q=2), without moving the cursor (C=1).
            text += &format!("a=T,f=100,q=2,i=1,p=1,C=1,c={columns},r={rows},");
        }
        text += &format!("m={more};{piece}\x1b\\");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_put_together_are_the_png() {
        // Noise does not compress.
        let mut state = 1u32;
        let mut noise = || {
            state ^= state << 13;
            state ^= state >> 17;
            state ^= state << 5;
            state as u8
        };
        let pixels = (0..64 * 64 * 3).map(|_| noise()).collect();
        let image = Image::new(64, 64, pixels);
        let text = encode(&image, 20, 10);
        let pieces: Vec<&str> = text.split_terminator("\x1b\\").collect();
        assert!(pieces.len() > 1);
        let mut data = String::new();
        for (number, piece) in pieces.iter().enumerate() {
            let (keys, payload) = piece.strip_prefix("\x1b_G").unwrap().split_once(';').unwrap();
            let is_last = number + 1 == pieces.len();
            assert!(keys.ends_with(if is_last { "m=0" } else { "m=1" }));
            assert!(payload.len() <= PIECE && (is_last || payload.len() == PIECE));
            data += payload;
        }
        let (bytes, _) = base64::decode(data.as_bytes()).unwrap();
        assert_eq!(bytes, encode_png(&image));
    }
}
