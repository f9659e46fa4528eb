"""What a shared library offers to those that are linked with it."""

import subprocess


def lines_of(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout.splitlines()


def exported(library, *options):
    """Its dynamic symbols: {name: kind as nm tells it}."""
    rows = [line.split(maxsplit=2) for line in lines_of("nm", "-D", "--defined-only", *options, library)]
    return {name: kind for _, kind, name in rows}


def soname(library):
    lines = lines_of("readelf", "-d", library)
    return [line.split("[")[1].rstrip("]") for line in lines if "(SONAME)" in line]
