"""`python -m colde_cli`: the same as the command `colde`."""

from colde_cli.app import main

if __name__ == "__main__":
    main()
