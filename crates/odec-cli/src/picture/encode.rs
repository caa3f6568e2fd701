//! Encodes a picture as the bytes of a file.

use plotters::prelude::*;

use super::draw::{Area, Stroke};
use super::{Diagram, diagram};

/// A file format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PictureFormat {
    /// Vector graphics.
    Svg,
    /// Pixels.
    Png,
}

/// Units of an SVG per pixel: the library uses integer coordinates, which are too coarse for curves.
const FINE: u32 = 10;
/// Pixels drawn per pixel of a PNG, averaged.
const OVERSAMPLING: u32 = 3;

/// A drawing for any backend.
pub trait Drawing {
    /// Width and height in pixels.
    fn size(&self) -> (u32, u32);
    /// Draws with `scale` units per pixel.
    fn draw<B: DrawingBackend>(&self, root: &Area<B>, scale: u32, stroke: Stroke) -> Result<(), String>;
}

impl Drawing for Diagram {
    fn size(&self) -> (u32, u32) {
        self.size
    }

    fn draw<B: DrawingBackend>(&self, root: &Area<B>, scale: u32, stroke: Stroke) -> Result<(), String> {
        diagram::draw(root, self, scale, stroke)
    }
}

/// The bytes of the file.
pub fn encode(picture: &impl Drawing, format: PictureFormat) -> Result<Vec<u8>, String> {
    super::draw::register_font();
    match format {
        PictureFormat::Svg => svg(picture),
        PictureFormat::Png => png(picture),
    }
}

fn svg(picture: &impl Drawing) -> Result<Vec<u8>, String> {
    let (width, height) = picture.size();
    let mut text = String::new();
    {
        let root = SVGBackend::with_string(&mut text, (width * FINE, height * FINE)).into_drawing_area();
        picture.draw(&root, FINE, Stroke::Whole)?;
        root.present().map_err(|e| e.to_string())?;
    }
    let large = format!("width=\"{}\" height=\"{}\"", width * FINE, height * FINE);
    Ok(text.replacen(&large, &format!("width=\"{width}\" height=\"{height}\""), 1).into_bytes())
}

fn png(picture: &impl Drawing) -> Result<Vec<u8>, String> {
    let (width, height) = picture.size();
    let (w, h) = (width * OVERSAMPLING, height * OVERSAMPLING);
    let mut pixels = vec![255u8; (w * h * 3) as usize];
    {
        let root = BitMapBackend::with_buffer(&mut pixels, (w, h)).into_drawing_area();
        picture.draw(&root, OVERSAMPLING, Stroke::Segments)?;
        root.present().map_err(|e| e.to_string())?;
    }
    let small = average(&pixels, width as usize, height as usize);
    let mut bytes = vec![];
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header().map_err(|e| e.to_string())?;
    writer.write_image_data(&small).map_err(|e| e.to_string())?;
    writer.finish().map_err(|e| e.to_string())?;
    Ok(bytes)
}

/// The mean of each square of `OVERSAMPLING` pixels a side.
fn average(pixels: &[u8], width: usize, height: usize) -> Vec<u8> {
    let k = OVERSAMPLING as usize;
    let mut out = Vec::with_capacity(width * height * 3);
    for row in 0..height {
        for column in 0..width {
            for channel in 0..3 {
                let mut sum = 0u32;
                for dy in 0..k {
                    let start = ((row * k + dy) * width * k + column * k) * 3 + channel;
                    sum += (0..k).map(|dx| u32::from(pixels[start + 3 * dx])).sum::<u32>();
                }
                out.push((sum / (k * k) as u32) as u8);
            }
        }
    }
    out
}
