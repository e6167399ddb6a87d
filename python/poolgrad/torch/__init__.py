"""For PyTorch: existing models sped up by `enable`, and pooling functions and modules of this library's own."""

from ._replacement import disable, enable, enabled, is_enabled, reset_stats, stats

__all__ = ["disable", "enable", "enabled", "is_enabled", "reset_stats", "stats"]
