"""python -m gridner"""

from gridner.cli import main

main()
