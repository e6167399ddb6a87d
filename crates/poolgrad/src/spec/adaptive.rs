//! Adaptive pooling: the output size is given and the windows follow from it.

use super::{Direction, Pool, Spec};
use crate::tensor::Sizes;

/// Stamps the constructors that both adaptive poolings share; there is nothing else in them.
macro_rules! adaptive {
    ($(#[$doc:meta])* $name:ident, $variant:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub struct $name {
            /// The number of spatial axes: 1, 2 or 3.
            pub n_spatial: usize,
            /// The spatial size of the output: one value for all axes, or one for each, at least 1.
            pub output_size: Sizes,
        }

        impl $name {
            /// Pooling to `output_size` over `n_spatial` axes.
            #[must_use]
            pub fn new(n_spatial: usize, output_size: impl Into<Sizes>) -> Self {
                Self { n_spatial, output_size: output_size.into() }
            }

            /// Pooling to `output_size` over W, for `[N, C, W]` or `[C, W]`.
            #[must_use]
            pub fn new_1d(output_size: impl Into<Sizes>) -> Self {
                Self::new(1, output_size)
            }

            /// Pooling to `output_size` over H and W, for `[N, C, H, W]` or `[C, H, W]`.
            #[must_use]
            pub fn new_2d(output_size: impl Into<Sizes>) -> Self {
                Self::new(2, output_size)
            }

            /// Pooling to `output_size` over D, H and W, for `[N, C, D, H, W]` or `[C, D, H, W]`.
            #[must_use]
            pub fn new_3d(output_size: impl Into<Sizes>) -> Self {
                Self::new(3, output_size)
            }

            /// This pooling in the given direction.
            #[must_use]
            pub fn spec(self, direction: Direction) -> Spec {
                Spec { pool: Pool::$variant(self), direction }
            }
        }
    };
}

adaptive! {
    /// Adaptive max pooling: the largest element of each window, and where it lies.
    ///
    /// For each spatial axis of input size `I` and output size `O`, output position `o` sees the input positions
    ///
    /// ```text
    /// floor(o·I / O)  <=  i  <  ceil((o + 1)·I / O)
    /// ```
    ///
    /// so the windows cover the input, and overlap by one element where `I` is no multiple of `O`. An output larger
    /// than the input is legal: its windows repeat elements. In a window the first maximum in row-major order wins,
    /// and a NaN beats every number, the last NaN winning.
    ///
    /// Source: contract of `aclnnAdaptiveMaxPool3dBackward`, sections 2.2 and A; `torch.nn.AdaptiveMaxPool3d`.
    ///
    /// # Examples
    /// ```
    /// use poolgrad::{AdaptiveMaxPool, Tensor};
    ///
    /// let pool = AdaptiveMaxPool::new_1d(2);
    /// let input = Tensor::from_vec(vec![1.0f32, 5.0, 7.0, 0.0, 3.0], [1, 5])?;
    /// let (output, indices) = pool.forward(&input)?;
    /// assert_eq!(output.as_slice::<f32>(), Some(&[7.0, 7.0][..]));
    /// assert_eq!(indices.as_slice::<i64>(), Some(&[2, 2][..]));
    ///
    /// let grad_output = Tensor::from_vec(vec![10.0f32, 20.0], [1, 2])?;
    /// let grad_input = pool.backward(&grad_output, &indices, *input.shape())?;
    /// assert_eq!(grad_input.as_slice::<f32>(), Some(&[0.0, 0.0, 30.0, 0.0, 0.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    AdaptiveMaxPool, AdaptiveMax
}

adaptive! {
    /// Adaptive average pooling: the mean of each window.
    ///
    /// Windows are those of [`AdaptiveMaxPool`]; each output is the sum of its window divided by the window's number
    /// of elements, and its gradient is shared equally among them.
    ///
    /// Source: contract of `aclnnAdaptiveAvgPool3dBackward`, section 4.3; `torch.nn.AdaptiveAvgPool3d`.
    ///
    /// # Examples
    /// ```
    /// use poolgrad::{AdaptiveAvgPool, Tensor};
    ///
    /// let pool = AdaptiveAvgPool::new_1d(2);
    /// let grad_output = Tensor::from_vec(vec![3.0f32, 6.0], [1, 2])?;
    /// // The windows of 5 elements are 0..3 and 2..5: the middle one has a share in both.
    /// let grad_input = pool.backward(&grad_output, [1, 5])?;
    /// assert_eq!(grad_input.as_slice::<f32>(), Some(&[1.0, 1.0, 3.0, 2.0, 2.0][..]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    AdaptiveAvgPool, AdaptiveAvg
}
