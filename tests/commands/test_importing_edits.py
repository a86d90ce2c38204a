"""Import of what people do without patches: edited installations, whole files, scripts, Dockerfiles."""

from __future__ import annotations

import os
import py_compile
import shutil
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from stackctl.adapters.git import GitStore
from stackctl.commands.importing import sources
from stackctl.commands.importing.ground import How
from stackctl.commands.importing.verb import ImportReport, ImportRequest, import_patches
from stackctl.commands.selection import Selection
from stackctl.errors import PatchConflict, StackctlError, UsageError
from tests.adapters.sshhost import ssh_host
from tests.commands.composing import NUMBERS
from tests.commands.import_world import World, diff, edit
from tests.fakes import LocalFilesAt

pytestmark = pytest.mark.slow
A, B = "python/pkg/a.py", "python/pkg/b.py"
SITE = "/usr/lib/python3/dist-packages"
ROOTS = How({SITE: "python", "/src": "."})


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def noted(report: ImportReport, *kinds: str) -> list[tuple[str, str | None]]:
    return [(note.text, note.where) for note in report.notes if note.kind in kinds]


def site(world: World) -> Path:
    """An installation: the package without the folder above it, beside one that is not ours."""
    place = world.folder / "venv/site-packages"
    shutil.copytree(world.folder / "engine/python/pkg", place / "pkg")
    (place / "numpy").mkdir()
    (place / "numpy/x.py").write_text("x\n")
    return place


def test_an_installation_as_it_stands(world: World) -> None:
    place = site(world)
    edit(place / "pkg/a.py", 10, "ten")
    (place / "pkg/new.py").write_text("X = 1\n")
    (place / "pkg/b.py").unlink()
    (place / "pkg/a.py.orig").write_text("x")
    (place / "pkg/k.so").write_bytes(b"\x7fELF\0")
    (place / "pkg/l.py").symlink_to("a.py")
    report = world.take(sources.installed(str(place), split=False, keep_missing=False), add=True)
    assert noted(report, "modified") == [("python/pkg/a.py", None)]
    assert noted(report, "added") == [("python/pkg/new.py", None)]
    assert noted(report, "missing") == [("the patch deletes it", "python/pkg/b.py")]
    assert noted(report, "left-out") == [("a backup", "python/pkg/a.py.orig")]
    assert noted(report, "unexplained") == [
        ("a link to a.py", "python/pkg/l.py"),
        ("a binary file, which no patch carries", "python/pkg/k.so"),
    ]
    assert report.source_tree == report.result_tree
    assert report.patches[0].files == 3
    (world.folder / "venv/site-packages/pkg/k.so").unlink()
    again = world.take(sources.installed(str(place), split=False, keep_missing=False))
    assert again.patches == ()


def test_a_patch_a_file(world: World) -> None:
    place = site(world)
    edit(place / "pkg/a.py", 10, "ten")
    edit(place / "pkg/b.py", 10, "ten")
    (place / "pkg/run.sh").unlink()
    report = world.take(sources.installed(str(place / "pkg"), split=True, keep_missing=True))
    assert [patch.name for patch in report.patches] == ["t/edit-python-pkg-a-py", "t/edit-python-pkg-b-py"]
    assert noted(report, "missing") == [("kept (--keep-missing)", "python/pkg/run.sh")]
    assert noted(report, "remark")[0][0] == "compared with python/pkg of the base"


def test_a_dirty_checkout_and_a_folder_that_is_none(world: World) -> None:
    checkout = world.fork()
    edit(checkout / A, 3, "three")
    (checkout / "notes.txt").write_text("x")
    report = world.take(sources.installed("../fork", split=False, keep_missing=False))
    assert [patch.files for patch in report.patches] == [1]
    assert ("not of the base: notes.txt", "../fork") in noted(report, "left-out")
    for place in (world.workspace, world.folder / "no"):
        with pytest.raises(UsageError):
            world.take(sources.installed(str(place), split=False, keep_missing=False))
    with pytest.raises(UsageError, match="has no host nowhere"):
        world.take(sources.installed("nowhere:/x", split=False, keep_missing=False))


def test_bytecode_that_is_not_of_its_source(world: World) -> None:
    place = site(world) / "pkg"
    source = place / "a.py"
    source.write_text("A = 1\n")
    os.utime(source, (1_700_000_000, 1_700_000_000))
    py_compile.compile(str(source))
    source.write_text("A = 2\n")
    os.utime(source, (1_700_000_000, 1_700_000_000))
    (place / "gone.pyc").write_bytes(b"x" * 20)
    (place / "b.py").write_text("B = 1\n")
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(place / "b.py"), invalidation_mode=mode)
    (place / "b.py").write_text("B = 2\n")
    report = world.take(sources.installed(str(place.parent), split=False, keep_missing=False), dry_run=True)
    assert [text for text, _ in noted(report, "stale")] == [
        "its source was changed since; Python runs it all the same",
        "it runs, and there is no source of it",
        "Python takes it for current, and it was made of another text",
    ]


def test_an_installation_without_the_queue(world: World) -> None:
    place = site(world)
    world.edit("own", 10, "mine")
    world.stack_file("own")
    edit(place / "pkg/b.py", 3, "three")
    with pytest.raises(UsageError, match=r"does not carry the whole queue.*python/pkg/a\.py"):
        world.take(sources.installed(str(place), split=False, keep_missing=False))
    report = world.take(sources.installed(str(place), split=False, keep_missing=False), onto="base", add=True)
    assert [patch.files for patch in report.patches] == [1]
    edit(place / "pkg/a.py", 10, "mine")
    assert world.take(sources.installed(str(place), split=False, keep_missing=False)).patches == ()


@pytest.mark.ssh
def test_an_installation_on_another_host(world: World) -> None:
    with ssh_host() as spec:
        text = (
            world.queue()
            .replace("host: a", "host: box")
            .replace(
                "hosts: {a: {address: local}}",
                f"hosts: {{box: {{address: '{spec.address}', python: {spec.python},"
                f" identity: {spec.identity}, known_hosts: {spec.known_hosts}}}}}",
            )
        )
        (world.workspace / "stacks/s.yaml").write_text(text)
        place = site(world)
        edit(place / "pkg/a.py", 10, "ten")
        host = world.world().hosts.open(spec)
        root = "~/import-test/site-packages"
        for path in sorted(place.rglob("*.py")):
            host.put(f"{root}/{path.relative_to(place)}", path.read_bytes())
        host.put(f"{root}/pkg/run.sh", (place / "pkg/run.sh").read_bytes(), 0o755)
        report = world.take(sources.installed(f"box:{root}", split=False, keep_missing=False))
        host.run(("rm", "-rf", "import-test"))
        host.close()
    assert noted(report, "modified") == [("python/pkg/a.py", None)]
    assert report.patches[0].origin == f"box:{root}"


def test_a_whole_file_becomes_a_diff(world: World) -> None:
    file = world.put("a.py", NUMBERS.replace("line 7\n", "seven\n"))
    old = sha256(NUMBERS.encode()).hexdigest()
    report = world.take(sources.overlays({str(file): f"{SITE}/pkg/a.py"}, [old]), ROOTS)
    assert (report.patches[0].added, report.patches[0].removed) == (1, 1)
    text = world.written()[f"{report.patches[0].name}.patch"].decode()
    assert f"(sha256 {old})" in text
    assert sha256(file.read_bytes()).hexdigest() in text
    new = world.put("n.py", "X = 1\n")
    assert world.take(sources.overlays({str(new): "python/pkg/n.py"}, ["none"])).patches[0].added == 1


@pytest.mark.parametrize(
    ("target", "digest", "problem"),
    [
        ("python/pkg/a.py", "0" * 64, "and the one here has sha256"),
        ("python/pkg/a.py", "none", "is there already"),
        ("python/pkg/x.py", "0" * 64, "no such file to replace"),
        (f"{SITE}/pkg/a.py", "0" * 64, "absolute name"),
        ("../x", "none", "leads out"),
    ],
)
def test_a_whole_file_of_another_base_is_refused(world: World, target: str, digest: str, problem: str) -> None:
    file = world.put("a.py", "x\n")
    with pytest.raises(PatchConflict, match=problem):
        world.take(sources.overlays({str(file): target}, [digest]))
    with pytest.raises(UsageError, match="one for each"):
        sources.overlays({"a": "b"}, [])


FIX = """\
#!/usr/bin/env python3
import pathlib, shutil, sys
p = pathlib.Path(sys.argv[1]) / "python/pkg/a.py"
t = p.read_text()
if "ten" not in t:
    shutil.copy(p, str(p) + ".bak")
    assert t.count("line 10\\n") == 1
    p.write_text(t.replace("line 10\\n", "ten\\n"))
"""


def test_a_script_is_what_it_changes(world: World) -> None:
    file = world.put("fix.py", FIX)
    report = world.take(sources.script(str(file), ["{tree}"], 60), trailers={"Area": "tests"})
    assert [(patch.name, patch.files, patch.added) for patch in report.patches] == [("t/fix", 1, 1)]
    assert noted(report, "left-out") == [("a backup that the script left", "python/pkg/a.py.bak")]
    assert f"sha256 {sha256(FIX.encode()).hexdigest()}".encode() in world.written()["t/fix.patch"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("echo FAILED anchor", "ended well and changed nothing: FAILED anchor"),
        ("echo x >> python/pkg/a.py", r"changes python/pkg/a\.py again when it runs twice"),
        ("echo sorry >&2; exit 3", "ended with 3: sorry"),
        ("while true; do :; done", "took longer than"),
        ("echo x > python/pkg/a.py.orig", "ended well and changed nothing"),
    ],
)
def test_scripts_that_are_refused(world: World, text: str, problem: str) -> None:
    file = world.put("x.sh", text)
    with pytest.raises(StackctlError, match=problem):
        world.take(sources.script(str(file), [], 0.5 if "while" in text else 60))
    assert world.written() == {}


def test_a_script_reaches_nothing_else(world: World) -> None:
    outside = world.folder / "outside"
    text = f"echo x > {outside}; (exec 3<>/dev/tcp/127.0.0.1/1) 2>&1; wc -l < /proc/net/dev > python/devices"
    file = world.put("x.bash", text)
    report = world.take(sources.script(str(file), [], 60))
    with world.world().scratch() as scratch:
        standing = scratch.walls()
    told = [text for text, _ in noted(report, "remark")]
    assert ("network" in standing) != any("network" in text for text in told)
    assert ("files" in standing) != outside.exists()
    if "network" in standing:
        assert b"+3\n" in world.written()["t/x.patch"]  # two lines of a header, and the loopback


def test_a_script_of_an_installation_is_pointed_at_the_tree(world: World) -> None:
    file = world.put("x.sh", f"#!/bin/sh\nsed -i 's/^line 3$/three/' {SITE}/pkg/b.py\n")
    assert world.take(sources.script(str(file), [], 60), ROOTS).patches[0].added == 1


DOCKERFILE = f"""\
FROM base
ARG SITE={SITE}
COPY p/ /tmp/p/
COPY fix.py /opt/
RUN apt-get update && pip install x
WORKDIR /src
RUN git apply -p1 /tmp/p/0001-a.patch && patch -p0 -d $SITE --fuzz=2 < /tmp/p/0003-b.diff || true
RUN sed -i -e 's/^line 20$/twenty/' -e 's/none/x/' ${{SITE}}/pkg/*.py
RUN python3 /opt/fix.py /src
RUN cat > $SITE/pkg/new.py <<'EOF'
X = "$HOME"
EOF
RUN ["sed", "-i", "s/^line 25$/25/", "python/pkg/b.py"]
CMD ["x"]
"""


def docker(world: World, text: str = DOCKERFILE, more: str = "") -> str:
    world.put("d/p/0001-a.patch", "Subject: Say five\n\n---\n" + diff(A, 5, "five").replace(f" {A}", f" a/{A}"))
    world.put("d/p/0003-b.diff", diff("pkg/b.py", 5, "fünf"))
    world.put("d/fix.py", FIX)
    return str(world.put("d/Dockerfile", text + more))


def test_a_dockerfile_step_by_step(world: World) -> None:
    report = world.take(sources.dockerfile(docker(world), None, 60), ROOTS)
    assert [(patch.title, patch.origin) for patch in report.patches] == [
        ("Say five", "Dockerfile:7 0001-a.patch"),
        ("B", "Dockerfile:7 0003-b.diff"),
        ("Edit a.py by sed (Dockerfile line 8)", "Dockerfile:8"),
        ("Run fix.py (Dockerfile line 9)", "Dockerfile:9"),
        ("Add new.py (Dockerfile line 10)", "Dockerfile:10"),
        ("Edit b.py by sed (Dockerfile line 13)", "Dockerfile:13"),
    ]
    assert noted(report, "nothing") == [("sed 's/none/x/' in python/pkg/a.py, python/pkg/b.py", "Dockerfile:8")]
    told = [text for text, _ in noted(report, "remark")]
    assert told[:3] == [
        "it allows fuzz; here nothing of the kind is done",
        "`|| true` hides a failure of what stands before it",
        "no patch that is applied has the number 2",
    ]
    assert [text.partition(":")[0] for text, _ in noted(report, "other-step")] == ["apt-get update", "pip install x"]
    assert b'+X = "$HOME"\n' in world.written()["t/add-new-py-dockerfile-line-10.patch"]


def test_steps_that_cannot_be_replayed_stop_it(world: World) -> None:
    more = f"RUN for f in $(ls {SITE}/pkg/*.py); do sed -i s/a/b/ $f; done\nRUN patch -p1 < /elsewhere.patch\n"
    file = docker(world, more=more)
    with pytest.raises(PatchConflict, match=r"cannot be replayed(?s:.)*Dockerfile:15(?s:.)*Dockerfile:16") as caught:
        world.take(sources.dockerfile(file, None, 60), ROOTS)
    assert "--partial" in (caught.value.hint or "")
    assert world.written() == {}
    report = world.take(sources.dockerfile(file, None, 60), replace(ROOTS, partial=True))
    assert len(report.patches) == 6
    assert {where for _, where in noted(report, "not-replayed")} == {"Dockerfile:15", "Dockerfile:16"}


@pytest.mark.parametrize(
    ("step", "kind", "text"),
    [
        ("RUN sed -i 's/x/cat/e' /src/python/pkg/a.py", "not-replayed", "sed: "),
        ("RUN sed -i 's/nothing/x/' /src/python/pkg/a.py", "nothing", "sed 's/nothing/x/'"),
        ("RUN sed -i 's/a/b/' /src/python/pkg/none.py", "not-replayed", "there is no such file"),
        ("COPY p/0001-a.patch /tmp/", "left-out", "no step that is replayed applies it"),
        ("COPY none /src/x", "not-replayed", "the context has no such file"),
        ("COPY --from=other /x /src/x", "not-replayed", "it comes from elsewhere"),
        ("RUN curl x | patch -p1 -d /src", "not-replayed", "a pipe is not followed"),
        ("RUN cd /src && make", "other-step", "`make` is not replayed"),
        ("RUN python3 /none.py", "other-step", "no step brought it"),
        ('RUN for p in /tmp/p/*; do patch -p0 -d $X < "$p"; done', "not-replayed", "is not known here"),
        ("COPY p/0003-b.diff /p/\nRUN for p in /p/*; do patch -p0 -d /src/python <$p; done", "remark", "0003-b.diff"),
        ("RUN --mount=type=bind,source=p,target=/p git -C /src apply /p/0001-a.patch", "remark", "headers do not say"),
        (
            "RUN for f in /src/python/pkg/*.py; do sed -i 's/^line 3$/3/' $f; done",
            "remark",
            "2 files by their names: a.py",
        ),
        ("RUN python3 -c 'import pkg; print(pkg.__file__)'", "other-step", "changed nothing"),
        ("RUN python3 -m pkg.compile", "other-step", "`python3 -m pkg.compile` is not replayed"),
        ("ONBUILD RUN x", "other-step", "ONBUILD is not replayed"),
        ("COPY fix.py /src/python/pkg/a.py", "remark", "is replaced whole"),
        ("RUN cp /src/python/pkg/a.py /src/python/pkg/c.py && rm /src/python/pkg/b.py", "remark", "headers do not say"),
        ("RUN date | head", "other-step", "a pipe is not followed"),
        ("COPY <<EOF /src/python/y\ntext\nEOF", "remark", "headers do not say"),
        ("RUN <<EOF\nset -e\nsed -i s/line/LINE/ /src/python/pkg/b.py\nEOF", "remark", "headers do not say"),
    ],
)
def test_steps_one_by_one(world: World, step: str, kind: str, text: str) -> None:
    file = docker(world, f"FROM base\n{step}\n")
    report = world.take(sources.dockerfile(file, None, 60), replace(ROOTS, partial=True))
    assert any(text in said for said, _ in noted(report, kind)), report.notes
    assert report.source_tree == report.result_tree


def of_steps(world: World, *steps: str, partial: bool = False) -> ImportReport:
    file = docker(world, "FROM base\n" + "".join(f"{step}\n" for step in steps))
    return world.take(sources.dockerfile(file, None, 60), replace(ROOTS, partial=partial))


def paths_of(world: World) -> list[str]:
    """Of the files that the patches of the workspace touch, one a diff."""
    text = b"".join(world.written().values()).decode()
    return [line.rpartition(" b/")[2] for line in text.splitlines() if line.startswith("diff --git ")]


@pytest.mark.parametrize(
    "step",
    [
        "COPY fix.py /src/python/pkg",
        "COPY fix.py /tmp/\nRUN cp /tmp/fix.py /src/python/pkg",
        "COPY fix.py /tmp/\nRUN mv /tmp/fix.py /src/python/./pkg",
        "COPY p/ /tmp/\nCOPY fix.py /tmp\nRUN cp /tmp/fix.py /src/python/pkg/",
    ],
)
def test_a_file_that_is_copied_to_a_folder_lies_in_it(world: World, step: str) -> None:
    of_steps(world, step)
    assert paths_of(world) == ["python/pkg/fix.py"]


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ("COPY <<EOF /src/python/pkg\nx\nEOF", "python/pkg is a folder"),
        ("RUN echo x > /src/python", "python is a folder"),
        ("COPY fix.py /src/python/pkg/a.py/x", "would lie below a file"),
        ("RUN rm -rf /src", "may take a whole --root away"),
        ("RUN rm -rf /usr/lib/python3*/dist-packages/pkg", "may take a whole --root away"),
        ("RUN rm /src/python/pkg/*.none", "there is no such file"),
    ],
)
def test_no_step_takes_a_folder_for_a_file(world: World, step: str, why: str) -> None:
    report = of_steps(world, step, partial=True)
    (told,) = noted(report, "not-replayed")
    assert told[0].endswith(why)
    assert report.patches == ()


@pytest.mark.parametrize(
    ("step", "gone"),
    [
        ("RUN rm /src/python/pkg/*.py", [A, B]),
        ("RUN rm -rf /src/python/p?g", [A, B, "python/pkg/run.sh"]),
    ],
)
def test_wildcards_of_rm_are_filled(world: World, step: str, gone: list[str]) -> None:
    assert [patch.files for patch in of_steps(world, step).patches] == [len(gone)]
    assert paths_of(world) == gone


def test_a_step_is_one_patch_and_has_a_name_of_its_own(world: World) -> None:
    report = of_steps(
        world,
        "COPY fix.py p/0003-b.diff /src/python/pkg/",
        "RUN sed -i 's/^line 3$/3/' /src/python/pkg/a.py && sed -i 's/^line 4$/4/' /src/python/pkg/a.py",
        "RUN mv /src/python/pkg/fix.py /src/python/pkg/mend.py",
    )
    assert [(patch.title, patch.files) for patch in report.patches] == [
        ("Add 2 files (Dockerfile line 2)", 2),
        ("Edit a.py by sed (Dockerfile line 3)", 1),
        ("Edit a.py by sed (Dockerfile line 3, 2)", 1),
        ("Move mend.py (Dockerfile line 4)", 2),
    ]


BRINGS = "COPY fix.py /tmp/fix.py"
SED = "sed -i 's/^line 3$/3/' /src/python/pkg/a.py"


@pytest.mark.parametrize(
    "steps",
    [
        ["RUN printf 'x' > /src/python/pkg/x.py"],
        ["RUN pip freeze > /src/python/pkg/x.py"],
        ["RUN date &> /src/python/pkg/x.py"],
        [BRINGS, "RUN python3 /tmp/fix.py /x > /tmp/log"],
        [BRINGS, "RUN python3 /tmp/fix.py /x | tee /tmp/log"],
        [BRINGS, "RUN python3 < /tmp/fix.py > /tmp/log"],
        [f"RUN grep -q X /etc/f || {SED}"],
        [f"RUN grep -q X /etc/f && {SED}"],
        [f"RUN test -f /etc/f && echo x && {SED}"],
        [f"RUN test -f /etc/f || exit 0; {SED}"],
        ["RUN true || echo x > /src/python/pkg/x.py"],
        [f"RUN [[ -f /etc/f ]] && {SED}"],
        ["WORKDIR /etc", f"RUN ! grep -q X f && {SED}"],
        ["RUN python3 -c 'import pkg; open(pkg.x, \"w\").write(1)' > /tmp/log"],
        ["RUN python3 - > /tmp/log <<EOF\nimport pkg\nEOF"],
        ["WORKDIR /src/python/pkg", "RUN cd $(mktemp -d) && rm a.py"],
        ["RUN cd $(mktemp -d); touch a.py"],
        [f"RUN cd ~/x && {SED}"],
        ["WORKDIR /src/python", "RUN pushd pkg; rm a.py"],
        ["RUN test -d /src && cd /src; rm -f python/pkg/a.py"],
        ["COPY <<EOF /src/python/pkg/\n$UNKNOWN\nEOF"],
    ],
)
def test_what_cannot_be_known_stops_the_import(world: World, steps: list[str]) -> None:
    with pytest.raises(PatchConflict, match="1 steps touch the tree and cannot be replayed"):
        of_steps(world, *steps)
    assert world.written() == {}


@pytest.mark.parametrize(
    "step",
    [
        f"RUN test -d /src || exit 1; {SED}",
        f"RUN test -d /src || {{ echo no; exit 1; }}; {SED}",
        f"RUN grep -q X /etc/f || true && {SED}",
        f"RUN grep -q X /etc/f && echo x; {SED}",
        f"RUN pip install x || pip install y; {SED} || :",
        "WORKDIR /tmp\nRUN cd /src/python && cd pkg && sed -i 's/^line 3$/3/' a.py",
    ],
)
def test_what_runs_in_any_case_is_replayed(world: World, step: str) -> None:
    report = of_steps(world, step)
    assert [patch.added for patch in report.patches] == [1]
    assert noted(report, "not-replayed") == []


def test_here_documents_of_one_copy_are_files_of_a_folder(world: World) -> None:
    text = "ARG X=1\nCOPY <<one.py <<'two.py' fix.py /src/python/pkg/\nX = $X\none.py\nY = $X\ntwo.py"
    report = of_steps(world, text)
    assert [patch.files for patch in report.patches] == [3]
    assert paths_of(world) == ["python/pkg/fix.py", "python/pkg/one.py", "python/pkg/two.py"]
    (data,) = world.written().values()
    assert b"+X = 1\n" in data
    assert b"+Y = $X\n" in data


@pytest.mark.parametrize("word", ["/src/python/pkg/*.py", "$ROOT/pkg/*.py"])
def test_a_root_needs_no_slash_in_front(world: World, word: str) -> None:
    file = docker(world, f"FROM x\nENV ROOT=/src/python\nRUN for f in {word}; do sed -i 's/^line 3$/3/' $f; done\n")
    report = world.take(sources.dockerfile(file, None, 60), How({"src/python/": "python"}))
    assert paths_of(world) == [A, B]
    assert len(report.patches) == 2


def test_only_the_last_stage_counts(world: World) -> None:
    other = SED.replace("line 3", "line 9")
    report = of_steps(world, f"RUN {other}\nFROM base AS mine\nRUN {SED}\nFROM Mine")
    assert [(patch.origin, patch.added) for patch in report.patches] == [("Dockerfile:4", 1)]
    said = "the last stage is not made from FROM base, so no step of that is replayed"
    assert noted(report, "left-out") == [(said, "Dockerfile:1")]


def test_a_full_disk_is_no_step_that_is_left_out(world: World) -> None:
    class Full(GitStore):
        def change(self, *_: object) -> Any:
            raise StackctlError("no space left on device")

    ports = replace(world.world(), git=Full(LocalFilesAt(world.folder / "home", world.workspace)))
    file = docker(world, f"FROM x\nRUN {SED}\n")
    request = ImportRequest(Selection("s"), sources.dockerfile(file, None, 60), "t", how=replace(ROOTS, partial=True))
    with pytest.raises(StackctlError, match="no space left"):
        import_patches(ports, request)


def test_a_host_of_the_stack_may_be_this_machine(world: World) -> None:
    place = site(world)
    edit(place / "pkg/a.py", 10, "ten")
    report = world.take(sources.installed(f"a:{place}", split=False, keep_missing=False))
    assert report.patches[0].origin == f"a:{place}"
