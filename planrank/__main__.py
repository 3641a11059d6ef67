from planrank.cli.main import run

run()
