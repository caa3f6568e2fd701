//! Picture files: their names and sizes, checked before anything is computed.

use std::path::{Path, PathBuf};

use odec_lang::diagnostic::{Diagnostic, codes};
use odec_sim::Error;

use crate::args::Figure;
use crate::exit::Exit;
use crate::input::{Inputs, error, keep_apart};
use crate::picture::{Diagram, PictureFormat, encode, format_of};
use crate::report::{Reporter, say};
use crate::whole::write_file;

/// Largest side of a picture in pixels.
const MAX_SIDE: u32 = 8000;

/// The destination of a picture.
pub struct Destination {
    /// Width and height in pixels.
    pub size: (u32, u32),
    files: Vec<(PathBuf, PictureFormat)>,
}

impl Destination {
    /// Evaluates the flags; `name` is the default file name. The picture must not overwrite an input file.
    pub fn new(figure: &Figure, name: &str, inputs: &Inputs) -> Result<Destination, Box<Diagnostic>> {
        let size = size(&figure.size)?;
        let outputs: Vec<_> = figure.output.iter().map(|path| ("-o", Some(path.as_path()))).collect();
        keep_apart(inputs, &outputs)?;
        let mut files = vec![];
        for path in &figure.output {
            files.push((path.clone(), format(path)?));
        }
        if files.is_empty() {
            files.push((PathBuf::from(name), PictureFormat::Svg));
        }
        Ok(Destination { size, files })
    }

    /// Draws and writes the picture.
    pub fn write(&self, diagram: &Diagram, reporter: Reporter) -> Result<Exit, Error> {
        for (path, format) in &self.files {
            let (width, height) = self.size;
            let bytes = encode(diagram, *format).map_err(|e| bad_size(&format!("`--size {width}x{height}`: {e}")))?;
            write_file(path, &bytes)?;
            if !reporter.quiet() && reporter.human() {
                say(&format!("wrote {}\n", path.display()));
            }
        }
        Ok(Exit::Success)
    }
}

/// The format for the extension of a file name.
pub fn format(path: &Path) -> Result<PictureFormat, Box<Diagnostic>> {
    format_of(path).ok_or_else(|| {
        let headline = format!("`{}`: odec does not draw this kind of picture", path.display());
        Box::new(error(&codes::E0711, headline, Some("choose a name that ends in .svg or .png".into())))
    })
}

pub fn bad_size(headline: &str) -> Diagnostic {
    error(&codes::E0705, headline.to_string(), Some("for example `--size 1200x750`".into()))
}

/// Width and height.
pub fn size(text: &str) -> Result<(u32, u32), Box<Diagnostic>> {
    let parsed = text.split_once('x').and_then(|(w, h)| Some((w.parse::<u32>().ok()?, h.parse::<u32>().ok()?)));
    match parsed {
        Some((w, h)) if w >= 1 && h >= 1 && w <= MAX_SIDE && h <= MAX_SIDE => Ok((w, h)),
        _ => {
            let headline = format!("`--size {text}`: this needs width and height in pixels, each at most {MAX_SIDE}");
            Err(Box::new(error(&codes::E0705, headline, Some("for example `--size 1200x750`".into()))))
        }
    }
}
