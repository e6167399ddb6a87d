//! `acl/acl_base_rt.h`: element sizes, half precision and the application's log.

use poolgrad::half::f16;

use crate::ffi::types::Text;
use crate::log::{self, Level};
use crate::objects::tensor::DataType;

#[unsafe(no_mangle)]
extern "C" fn aclDataTypeSize(dataType: i32) -> usize {
    DataType(dataType).size()
}

#[unsafe(no_mangle)]
extern "C" fn aclFloat16ToFloat(value: u16) -> f32 {
    f16::from_bits(value).to_f32()
}

/// The nearest half-precision number, where everything beyond the largest one is the largest one, NaN too.
#[unsafe(no_mangle)]
extern "C" fn aclFloatToFloat16(value: f32) -> u16 {
    let half = f16::from_f32(value);
    let saturated = if half.is_finite() { half } else { f16::MAX.copysign(half) };
    saturated.to_bits()
}

/// The header puts the text together, so what comes here is said as it is.
#[unsafe(no_mangle)]
extern "C" fn aclAppLog(logLevel: i32, func: Text, file: Text, line: u32, text: Text) {
    let (level, name) = match logLevel {
        0 => (Level::Debug, "debug"),
        1 => (Level::Info, "info"),
        2 => (Level::Info, "warning"),
        _ => (Level::Error, "error"),
    };
    if log::is_on(level) {
        let read = |text: Text| text.read().unwrap_or_default();
        log::line(level, &format!("{name} {}:{line} {}: {}", read(file), read(func), read(text)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_saturate() {
        let cases = [(0.0f32, 0x0000), (-0.0, 0x8000), (1.0, 0x3c00), (65504.0, 0x7bff), (65536.0, 0x7bff)];
        let more = [(f32::INFINITY, 0x7bff), (f32::NEG_INFINITY, 0xfbff), (f32::NAN, 0x7bff), (6e-8, 0x0001)];
        for (value, bits) in cases.into_iter().chain(more) {
            assert_eq!(aclFloatToFloat16(value), bits, "{value}");
        }
        assert_eq!(aclFloat16ToFloat(0x3555), 0.333_251_95);
    }
}
