//! Colours for numbers.

/// Red, green and blue.
pub(crate) type Colour = [u8; 3];

/// From black at 0 to white at 1.
pub(crate) fn grey(value: f64) -> Colour {
    [byte(value); 3]
}

/// From yellow at 0 over orange to dark red at 1: counts, on top of a grey picture.
pub(crate) fn heat(value: f64) -> Colour {
    between(&[[255, 236, 92], [253, 141, 38], [214, 26, 38], [122, 0, 60]], value)
}

/// From blue at -1 over white at 0 to red at 1.
pub(crate) fn diverging(value: f64) -> Colour {
    let stops = [[5, 48, 97], [67, 147, 195], [247, 247, 247], [214, 96, 77], [103, 0, 31]];
    between(&stops, (value + 1.0) / 2.0)
}

/// The colour at `value` of 0 to 1 along `stops`, which are evenly spaced; outside, the nearest end.
fn between(stops: &[Colour], value: f64) -> Colour {
    let last = stops.len() - 1;
    // What is not a number stays so, and becomes black.
    let place = value.clamp(0.0, 1.0) * last as f64;
    let left = (place as usize).min(last - 1);
    let part = place - left as f64;
    std::array::from_fn(|i| {
        let (from, to) = (f64::from(stops[left][i]), f64::from(stops[left + 1][i]));
        byte((from + (to - from) * part) / 255.0)
    })
}

fn byte(value: f64) -> u8 {
    (value * 255.0).round() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    // Oracle: by hand.
    #[test]
    fn scales_end_where_they_should() {
        assert_eq!([grey(-1.0), grey(0.0), grey(1.0), grey(9.0)], [[0; 3], [0; 3], [255; 3], [255; 3]]);
        assert_eq!(diverging(0.0), [247; 3]);
        assert_eq!(diverging(-5.0), diverging(-1.0));
        assert!(diverging(1.0)[0] > diverging(1.0)[2] && diverging(-1.0)[0] < diverging(-1.0)[2]);
        assert_eq!((heat(0.0), heat(1.0), heat(f64::NAN)), ([255, 236, 92], [122, 0, 60], [0; 3]));
    }
}
