//! Max pooling with a fixed window.

use super::{Direction, Pool, Spec};
use crate::tensor::Sizes;

/// Max pooling: the largest element of each window, and where it lies.
///
/// For each spatial axis, output position `o` sees the input positions
///
/// ```text
/// o·stride - padding + j·dilation,   0 <= j < kernel_size
/// ```
///
/// that lie inside the input; padding is never a maximum. The output size is
///
/// ```text
/// floor((input + 2·padding - dilation·(kernel_size - 1) - 1) / stride) + 1
/// ```
///
/// with `ceil` for `floor` in ceil mode, less one if the last window would then start behind the input and its left
/// padding. In a window the first maximum in row-major order wins, and a NaN beats every number, the last NaN winning.
///
/// Parameters hold one value for all spatial axes, or one for each, as `[D, H, W]`. An empty `stride` means
/// `kernel_size`. Values are not checked here, but when a [`Plan`](crate::Plan) is made from them.
///
/// Source: contract of `aclnnMaxPool3dWithArgmaxBackward`, sections 1.1, 1.2 and A; `torch.nn.MaxPool3d`.
///
/// # Examples
/// ```
/// use poolgrad::{MaxPool, Tensor};
///
/// let pool = MaxPool::new_2d(2);
/// let input = Tensor::from_vec(vec![1.0f32, 5.0, 2.0, 0.0, 3.0, 4.0, 9.0, 1.0], [1, 2, 4])?;
/// let (output, indices) = pool.forward(&input)?;
/// assert_eq!(output.as_slice::<f32>(), Some(&[5.0, 9.0][..]));
/// assert_eq!(indices.as_slice::<i64>(), Some(&[1, 6][..]));
///
/// let grad_output = Tensor::from_vec(vec![10.0f32, 20.0], [1, 1, 2])?;
/// let grad_input = pool.backward(&grad_output, &indices, *input.shape())?;
/// assert_eq!(grad_input.as_slice::<f32>(), Some(&[0.0, 10.0, 0.0, 0.0, 0.0, 0.0, 20.0, 0.0][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MaxPool {
    /// The number of spatial axes: 1, 2 or 3.
    pub n_spatial: usize,
    /// The number of elements of a window, at least 1.
    pub kernel_size: Sizes,
    /// The step from one window to the next, at least 1; empty means `kernel_size`.
    pub stride: Sizes,
    /// The border of padding on both sides, from 0 to half of `kernel_size`.
    pub padding: Sizes,
    /// The step between the elements of a window, at least 1.
    pub dilation: Sizes,
    /// Whether a last window that is cut off by the border counts.
    pub ceil_mode: bool,
}

impl MaxPool {
    /// Pooling over windows of `kernel_size` that touch without overlap, over `n_spatial` axes.
    #[must_use]
    pub fn new(n_spatial: usize, kernel_size: impl Into<Sizes>) -> Self {
        Self {
            n_spatial,
            kernel_size: kernel_size.into(),
            stride: Sizes::default(),
            padding: Sizes::from(0),
            dilation: Sizes::from(1),
            ceil_mode: false,
        }
    }

    /// [`MaxPool::new`] over W, for `[N, C, W]` or `[C, W]`.
    #[must_use]
    pub fn new_1d(kernel_size: impl Into<Sizes>) -> Self {
        Self::new(1, kernel_size)
    }

    /// [`MaxPool::new`] over H and W, for `[N, C, H, W]` or `[C, H, W]`.
    #[must_use]
    pub fn new_2d(kernel_size: impl Into<Sizes>) -> Self {
        Self::new(2, kernel_size)
    }

    /// [`MaxPool::new`] over D, H and W, for `[N, C, D, H, W]` or `[C, D, H, W]`.
    #[must_use]
    pub fn new_3d(kernel_size: impl Into<Sizes>) -> Self {
        Self::new(3, kernel_size)
    }

    /// With this step from one window to the next.
    #[must_use]
    pub fn stride(mut self, stride: impl Into<Sizes>) -> Self {
        self.stride = stride.into();
        self
    }

    /// With this border of padding.
    #[must_use]
    pub fn padding(mut self, padding: impl Into<Sizes>) -> Self {
        self.padding = padding.into();
        self
    }

    /// With this step between the elements of a window.
    #[must_use]
    pub fn dilation(mut self, dilation: impl Into<Sizes>) -> Self {
        self.dilation = dilation.into();
        self
    }

    /// With or without a last window that is cut off by the border.
    #[must_use]
    pub fn ceil_mode(mut self, ceil_mode: bool) -> Self {
        self.ceil_mode = ceil_mode;
        self
    }

    /// This pooling in the given direction.
    #[must_use]
    pub fn spec(self, direction: Direction) -> Spec {
        Spec { pool: Pool::Max(self), direction }
    }
}
