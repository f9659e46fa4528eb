"""What tests/gpu/run does, step by step."""
