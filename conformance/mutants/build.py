# SPDX-License-Identifier: Apache-2.0
"""Builds mutants: the objects that an edited source goes into, and a library of all kernels."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path

TIERS = ("neon", "dotprod", "i8mm", "bf16")
EXPORTS = "{ global: armq_provider_get; local: *; };\n"


class BuildError(Exception):
    """Something other than a mutant does not build."""


def _is_kernel(name):
    parts = name.split("/")
    return parts[0] == "kernels" and "tests" not in parts and "api" not in parts


class Builder:
    """root: the project. build: its build directory, with the objects of all kernels. work: where
    mutants are built."""

    def __init__(self, root, build, work):
        self.root = Path(root).resolve()
        self.objects = Path(build).resolve() / "aarch64/obj"
        self.work = Path(work).resolve()
        self.work.mkdir(parents=True, exist_ok=True)
        self.exports = self.work / "exports.map"
        self.exports.write_text(EXPORTS)
        self.commands = self._commands(Path(build) / "compile_commands.json")
        self.readers = self._readers()

    def _commands(self, path):
        """source -> compiler and flags, without warnings and debug information."""
        commands = {}
        for entry in json.loads(path.read_text()):
            words = shlex.split(entry["command"])
            if _is_kernel(entry["file"]) and entry["file"].endswith(".c"):
                commands[entry["file"]] = [w for w in words[:-2]
                                           if not w.startswith("-W") and w != "-g"] + ["-w"]
        if not commands:
            raise BuildError(f"{path} has no kernels")
        return commands

    def _object(self, name):
        return self.objects / (name + ".o")

    def _readers(self):
        """file -> the sources compiled with it."""
        readers = {}
        for name in self.commands:
            text = self._object(name).with_suffix(".d").read_text().split("\n\n")[0]
            for word in set(text.replace("\\\n", " ").split(":", 1)[1].split("\n")[0].split()):
                readers.setdefault(word, []).append(name)
        return {word: sorted(names) for word, names in readers.items()}

    def files(self):
        """The sources that can be edited."""
        kinds = TIERS + ("common",)
        return sorted(f for f in self.readers
                      if f.startswith(tuple(f"kernels/{k}/" for k in kinds)))

    def _compile(self, name, tree, out):
        """Whether `name`, in `tree` if it is there, compiles to `out`."""
        words = list(self.commands[name])
        at = words.index("-I.")
        words[at:at] = [f"-I{tree}"]
        edited = tree / name
        source = edited if edited.exists() else name
        out.parent.mkdir(parents=True, exist_ok=True)
        run = subprocess.run([*words, "-c", str(source), "-o", str(out)], cwd=self.root,
                             capture_output=True, timeout=300, check=False)
        return run.returncode == 0

    def original(self, name):
        """The object of the unedited source, compiled in the same way."""
        out = self.work / "original" / (name + ".o")
        newest = max((self.root / f).stat().st_mtime
                     for f, names in self.readers.items()
                     if name in names and (self.root / f).exists())
        if not out.exists() or out.stat().st_mtime < newest:
            if not self._compile(name, self.work / "none", out.with_suffix(".new")):
                raise BuildError(f"{name} does not compile")
            out.with_suffix(".new").replace(out)
        return out.read_bytes()

    def link(self, replaced, library):
        """replaced: source -> object that stands in for its own."""
        objects = [str(replaced.get(name, self._object(name))) for name in sorted(self.commands)]
        compiler = next(iter(self.commands.values()))[0]
        run = subprocess.run(
            [compiler, "-shared", "-Wl,--no-undefined", f"-Wl,--version-script={self.exports}",
             "-o", str(library), str(self._object("conformance/mutants/provider.c")), *objects,
             str(self.objects.parent / "libarmq-api.a"), "-lm"],
            cwd=self.root, capture_output=True, text=True, check=False)
        if run.returncode != 0:
            raise BuildError(f"{library} does not link: {run.stderr}")

    def mutant(self, name, text, slot):
        """A library whose `name` has this text; "no build" or "same code" instead."""
        tree = self.work / f"slot{slot}"
        # What a run that was killed left there would go into this mutant, too.
        shutil.rmtree(tree / "kernels", ignore_errors=True)
        edited = tree / name
        edited.parent.mkdir(parents=True, exist_ok=True)
        edited.write_text(text)
        try:
            missing = [n for n in self.commands if not self._object(n).exists()]
            if missing:
                raise BuildError(f"{self._object(missing[0])} is not there: is a build going on?")
            replaced = {}
            for reader in self.readers[name]:
                out = tree / "obj" / (reader + ".o")
                if not self._compile(reader, tree, out):
                    return "no build"
                if out.read_bytes() != self.original(reader):
                    replaced[reader] = out
            if not replaced:
                return "same code"
            library = tree / "mutant.so"
            try:
                self.link(replaced, library)
            except BuildError:
                return "no build"
            return library
        except subprocess.TimeoutExpired:
            return "no build"
        finally:
            edited.unlink()
