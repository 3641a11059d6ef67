"""Finds or makes the Julia that planrank runs on, and keeps its system image."""
