import pathlib

for path in sorted(pathlib.Path(".").glob("*.sh")):
    text = path.read_text(encoding="utf-8")
    if "set -eu" not in text:
        print(f"{path}: no set -eu")
