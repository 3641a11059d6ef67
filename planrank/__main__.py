from planrank.cli import run

run()
