"""The peers: other packages that do the same job, installed into their own virtual environment on request."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

PACKAGES = (
    "django-payments>=4.1",
    "moto[server]>=5.2",
    "requests>=2.32",
    "gunicorn>=23",
    "psycopg[binary]>=3.2",
)


def peers_python(folder: str) -> str:
    """The Python of the environment in this folder, which is made and filled first if necessary.

    :raises subprocess.CalledProcessError: a package could not be installed.
    """
    environment = Path(folder).absolute()
    python, finished = environment / "bin" / "python", environment / "finished"
    packages = "\n".join(PACKAGES)
    if not finished.exists() or finished.read_text() != packages:
        print(f"installing the peers into {environment}", file=sys.stderr)
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True, timeout=600)
        finished.write_text(packages)
    return str(python)
