//! Pictures: a canvas of pixels, colours for numbers, letters, and panels side by side.

mod canvas;
mod colour;
mod font;
mod panel;

pub(crate) use colour::{Colour, diverging, grey, heat};
pub(crate) use panel::{Legend, Panel, side_by_side};
