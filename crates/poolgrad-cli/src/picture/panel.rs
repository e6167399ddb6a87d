//! Panels side by side: each a small grid of colours, enlarged, with a caption above and a scale below.

use super::canvas::Canvas;
use super::colour::Colour;
use super::font;

/// Pixels that one number of the grid becomes in each direction, for a grid of ordinary size.
const ENLARGEMENT: usize = 4;
/// The least width of a panel; small grids are enlarged more.
const LEAST_WIDTH: usize = 384;
const MARGIN: usize = 16;
const LETTER: usize = 2;
const LINE: usize = (font::HEIGHT + 4) * LETTER;
const BAR_HEIGHT: usize = 12;

const PAPER: Colour = [255, 255, 255];
const INK: Colour = [30, 30, 30];

/// A grid of colours with its words.
#[derive(Debug)]
pub(crate) struct Panel {
    /// Lines above the grid, such as `MIDDLE SLICE`.
    pub(crate) caption: Vec<String>,
    pub(crate) width: usize,
    /// Colours in rows of `width` from the top left.
    pub(crate) colours: Vec<Colour>,
    pub(crate) legend: Legend,
}

/// The scale of a panel's colours.
#[derive(Debug)]
pub(crate) struct Legend {
    /// The colour at each part of 0 to 1.
    pub(crate) colour: fn(f64) -> Colour,
    /// What the left end, the middle and the right end stand for.
    pub(crate) labels: [String; 3],
}

/// A picture of `panels` in a row under a title.
pub(crate) fn side_by_side(title: &str, panels: &[Panel]) -> Canvas {
    let n_caption = panels.iter().map(|panel| panel.caption.len()).max().unwrap_or(0);
    let top = MARGIN + LINE * 3 / 2 + n_caption * LINE;
    let grid_height = panels.iter().map(|panel| panel.size()[1]).max().unwrap_or(0);
    let width = MARGIN + panels.iter().map(|panel| panel.size()[0] + MARGIN).sum::<usize>();
    let bottom = top + grid_height + MARGIN / 2;
    let mut canvas = Canvas::new(width, bottom + BAR_HEIGHT + LINE + MARGIN / 2, PAPER);
    canvas.write([MARGIN, MARGIN], LETTER, INK, title);
    let mut left = MARGIN;
    for panel in panels {
        let [width, _] = panel.size();
        for (i, line) in panel.caption.iter().enumerate() {
            canvas.write([left, MARGIN + LINE * 3 / 2 + i * LINE], LETTER, INK, line);
        }
        panel.draw(&mut canvas, [left, top]);
        panel.legend.draw(&mut canvas, [left, bottom], width);
        left += width + MARGIN;
    }
    canvas
}

impl Panel {
    fn enlargement(&self) -> usize {
        ENLARGEMENT.max(LEAST_WIDTH.div_ceil(self.width.max(1)))
    }

    /// The width and height in pixels.
    fn size(&self) -> [usize; 2] {
        let height = self.colours.len() / self.width.max(1);
        [self.width * self.enlargement(), height * self.enlargement()]
    }

    fn draw(&self, canvas: &mut Canvas, [left, top]: [usize; 2]) {
        let step = self.enlargement();
        for (i, &colour) in self.colours.iter().enumerate() {
            let (column, row) = (i % self.width, i / self.width);
            canvas.fill([left + column * step, top + row * step], [step, step], colour);
        }
    }
}

impl Legend {
    fn draw(&self, canvas: &mut Canvas, [left, top]: [usize; 2], width: usize) {
        for column in 0..width {
            let part = column as f64 / (width.max(2) - 1) as f64;
            canvas.fill([left + column, top], [1, BAR_HEIGHT], (self.colour)(part));
        }
        for (i, label) in self.labels.iter().enumerate() {
            let len = label.chars().count() * font::ADVANCE * LETTER;
            let spare = width.saturating_sub(len);
            canvas.write([left + spare * i / 2, top + BAR_HEIGHT + 4], LETTER, INK, label);
        }
    }
}
