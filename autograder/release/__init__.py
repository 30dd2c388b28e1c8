"""From hidden solutions to what students get: stubs, and the check that nothing leaks."""
