//! `poolgrad demo`: five operators and their gradients on a real volume, checked, timed and drawn.

mod draw;
mod exhibit;
mod measure;
mod report;
mod tensors;
mod volume;

use std::path::{Path, PathBuf};

use poolgrad::{DType, PlanOptions};
use poolgrad_check::to_grid;

use crate::cli::Demo;
use crate::console;
use crate::failure::Failure;
use crate::formats::save_bytes;
use crate::progress::Progress;
use exhibit::{Exhibit, exhibits};
use measure::{Measured, Row, measure};
use volume::Volume;

const DTYPES: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// The exhibits that are drawn: a max with overlapping windows, and the average.
const DRAWN: [usize; 2] = [2, 3];

pub(crate) fn run(arguments: &Demo) -> Result<(), Failure> {
    let volume = Volume::open(arguments.input.as_ref())?;
    let options = match arguments.threads {
        Some(threads) => PlanOptions::default().threads(threads),
        None => PlanOptions::default(),
    };
    let exhibits = exhibits(volume.shape);
    let progress = Progress::new((exhibits.len() * DTYPES.len()) as u64);
    let (mut rows, mut drawn) = (Vec::new(), Vec::new());
    for (i, exhibit) in exhibits.iter().enumerate() {
        for dtype in DTYPES {
            progress.say(format!("{} {dtype}", exhibit.name));
            let measured = measure(exhibit, &volume, dtype, &options)?;
            rows.extend(measured.rows.iter().cloned());
            if dtype == DType::F32 && DRAWN.contains(&i) {
                drawn.push((exhibit, measured));
            }
            progress.step(1);
        }
    }
    drop(progress);
    // Directions apart, so that an operator's types stand below each other.
    rows.sort_by_key(|row| (exhibits.iter().position(|exhibit| exhibit.name == row.name), row.direction as u8));
    let pictures = pictures(&arguments.out, &volume, &drawn)?;
    if arguments.json {
        console::json(&report::json(&rows, &pictures))?;
    } else {
        console::line(report::table(&rows))?;
        for picture in &pictures {
            console::line(format_args!("wrote {}", picture.display()))?;
        }
    }
    conclude(&rows)
}

/// Whether every result is right; each that is not is complained about.
fn conclude(rows: &[Row]) -> Result<(), Failure> {
    let wrong: Vec<_> = rows.iter().filter(|row| !row.comparison.passed()).collect();
    for row in &wrong {
        console::note(report::complaint(row));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(Failure::work(format!("{} of {} results are wrong", wrong.len(), rows.len())))
    }
}

/// Draws and writes the pictures.
fn pictures(folder: &Path, volume: &Volume, drawn: &[(&Exhibit, Measured)]) -> Result<Vec<PathBuf>, Failure> {
    std::fs::create_dir_all(folder).map_err(|error| Failure::file(folder, &error))?;
    let input = to_grid(&volume.tensor(DType::F32)?, 3);
    let picture = |(exhibit, measured): &(&Exhibit, Measured)| {
        let path = folder.join(draw::file_name(exhibit));
        save_bytes(&path, &draw::draw(exhibit, &input, measured)?)?;
        Ok(path)
    };
    drawn.iter().map(picture).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: the rule that one wrong result of any number is a failure.
    #[test]
    fn a_wrong_result_is_a_failure() {
        let volume = Volume::open(None).unwrap();
        let exhibit = exhibits(volume.shape)[3];
        let mut rows = measure(&exhibit, &volume, DType::F16, &PlanOptions::default()).unwrap().rows;
        assert!(conclude(&rows).is_ok());
        rows[1].comparison.n_wrong = 1;
        assert_eq!(conclude(&rows).unwrap_err().to_string(), "1 of 2 results are wrong");
    }
}
