//! A canvas of RGB pixels, and its PNG.

use super::colour::Colour;
use super::font;
use crate::failure::Failure;

/// Pixels in rows from the top left.
#[derive(Clone, Debug)]
pub(crate) struct Canvas {
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Canvas {
    pub(super) fn new(width: usize, height: usize, background: Colour) -> Self {
        let pixels = background.repeat(width * height);
        Self { width, height, pixels }
    }

    /// Fills `width` times `height` pixels from column `x` and row `y`; what lies outside is left out.
    pub(super) fn fill(&mut self, [x, y]: [usize; 2], [width, height]: [usize; 2], colour: Colour) {
        for row in y..(y + height).min(self.height) {
            for column in x..(x + width).min(self.width) {
                let start = (row * self.width + column) * 3;
                self.pixels[start..start + 3].copy_from_slice(&colour);
            }
        }
    }

    /// Writes `text` from column `x` and row `y` down, each dot of a letter `scale` pixels wide.
    pub(super) fn write(&mut self, [x, y]: [usize; 2], scale: usize, colour: Colour, text: &str) {
        for (i, character) in text.chars().enumerate() {
            for [column, row] in font::dots(character) {
                let left = x + (i * font::ADVANCE + column) * scale;
                self.fill([left, y + row * scale], [scale, scale], colour);
            }
        }
    }

    /// The PNG file.
    pub(crate) fn png(&self) -> Result<Vec<u8>, Failure> {
        let failed = |error: png::EncodingError| Failure::work(format!("a picture cannot be encoded: {error}"));
        let size = |size: usize| u32::try_from(size).map_err(|_| Failure::work("a picture is too large"));
        let mut file = Vec::new();
        let mut encoder = png::Encoder::new(&mut file, size(self.width)?, size(self.height)?);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        let mut writer = encoder.write_header().map_err(failed)?;
        writer.write_image_data(&self.pixels).map_err(failed)?;
        writer.finish().map_err(failed)?;
        Ok(file)
    }
}
