"""The commands, a file for each group. They import what they need when they run, so that help answers at once."""
