"""Settings of all tests: no deadline for generated cases, since a busy machine is no failure of the library."""

from hypothesis import settings

settings.register_profile("poolgrad", deadline=None, print_blob=True)
settings.load_profile("poolgrad")
