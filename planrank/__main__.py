from planrank.cli import main

main()
