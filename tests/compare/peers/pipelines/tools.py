"""The tools that are compared: how each is called, which files its user writes, and where an edit is made in them."""

import os
import re
import subprocess

FAILED_SAYS_AT_MOST = 2000  # characters of what a tool said


class Tool:
    """One tool. `again` are the calls after a kill."""

    def __init__(self, name, files, call, again, results, faulty, jobs):
        self.name = name
        self.files = files  # by pipeline
        self.call = call  # by pipeline
        self.again = again  # by pipeline
        self.results = results  # by pipeline: what the others call so too, in the same order
        self.faulty = faulty  # by pipeline: the name of the same job
        self.jobs = jobs  # from the text of a definition to one whose commands say what runs

    def version(self):
        said = subprocess.run([self.call("reads")[0], "--version"], capture_output=True, text=True, check=True)
        return re.search(r"[0-9]+(\.[0-9]+)+", said.stdout).group()


def xavantes(path):
    return Tool(
        "Xavantes",
        lambda pipeline: [f"{pipeline}.yaml"],
        lambda pipeline: [path, "run", f"{pipeline}.yaml", "--slots", "2", "--quiet"],
        lambda pipeline: [[path, "resume", "--quiet"]],
        {
            "reads": ["results/report.txt", "results/aligned.txt"],
            "sweep": ["results/table.txt"],
            "merge": ["results/all.txt"],
        },
        {"reads": "align[s07]", "sweep": "simulate[porto][0.3]", "merge": "merge[26]"},
        lambda text: text.replace('shell: "', 'shell: "ran || exit 3; '),
    )


def snakemake(path):
    call = [path, "--cores", "2", "--quiet", "all"]
    return Tool(
        "Snakemake",
        lambda pipeline: ["Snakefile", "config.yaml"],
        lambda pipeline: call,
        lambda pipeline: [[path, "--unlock", "--quiet", "all"], [*call, "--rerun-incomplete"]],
        {
            "reads": ["results/report.txt", "results/aligned.txt"],
            "sweep": ["results/table.txt"],
            "merge": ["results/5/0.txt"],
        },
        {"reads": "align sample=s07", "sweep": "simulate rate=0.3,town=porto", "merge": "merge level=3,n=2"},
        lambda text: re.sub(r'shell:\n(\s+)"', r'shell:\n\1"ran {rule} {wildcards} || exit 3; ', text),
    )


def make():
    def jobs(text):
        lines = []
        for line in text.split("\n"):
            if line.startswith("\t") and "mkdir" not in line:
                name = "$$@" if line.endswith("$$@") else "$@"
                line = f"\tran {name} || exit 3; {line[1:]}"
            lines.append(line)
        return "\n".join(lines)

    call = ["make", "--silent", "--jobs=2"]
    return Tool(
        "make",
        lambda pipeline: ["Makefile"],
        lambda pipeline: call,
        lambda pipeline: [call],
        {
            "reads": ["results/report.txt", "results/aligned.txt"],
            "sweep": ["results/table.txt"],
            "merge": ["results/1.txt"],
        },
        {"reads": "work/align/s07.txt", "sweep": "work/porto/0.3.txt", "merge": "results/6.txt"},
        jobs,
    )


class Folder:
    """A folder of its own for one tool and one pipeline, with everything that the tool keeps."""

    def __init__(self, here, tool, pipeline, sources, data, says_jobs):
        self.here, self.tool, self.pipeline = here, tool, pipeline
        self.project = os.path.join(here, "project")
        os.makedirs(os.path.join(here, "bin"))
        subprocess.run(["cp", "-r", data, self.project], check=True)
        for source in sources:
            with open(source) as file:
                text = file.read()
            name = os.path.basename(source)
            if says_jobs and name in tool.files(pipeline):
                text = tool.jobs(text)
            with open(os.path.join(self.project, name), "w") as file:
                file.write(text)
        own = os.path.dirname(os.path.abspath(__file__))
        subprocess.run(["cp", os.path.join(own, "ran"), os.path.join(here, "bin")], check=True)
        self.pace = os.path.join(own, "pace")
        self.is_other_parameter = False  # from the moment that an edit has changed it
        self.bytes_before = self.disk()

    def environment(self, paced=False):
        path = [os.path.join(self.here, "bin"), os.environ["PATH"]]
        if paced:
            path.insert(0, self.pace)
        kept = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        state = os.path.join(self.here, "state")
        return kept | {
            "PATH": ":".join(path),
            "HOME": self.here,
            "XDG_DATA_HOME": state,
            "XDG_CACHE_HOME": state,
        }

    def start(self, call, paced=False):
        """Starts a tool, with what it says in a file."""
        with open(os.path.join(self.here, "said"), "w") as said:
            return subprocess.Popen(
                call,
                cwd=self.project,
                env=self.environment(paced),
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
            )

    def run(self, call=None, fails=False):
        """Runs a tool to its end."""
        status = self.start(call or self.tool.call(self.pipeline)).wait()
        if (status != 0) != fails:
            with open(os.path.join(self.here, "said")) as said:
                said = said.read()[-FAILED_SAYS_AT_MOST:]
            raise RuntimeError(f"{self.tool.name}, {self.pipeline}: status {status}\n{said}")

    def ran(self):
        """The jobs that ran since the last call, in order."""
        log = os.path.join(self.here, "log")
        if not os.path.exists(log):
            return []
        with open(log) as file:
            jobs = file.read().splitlines()
        os.remove(log)
        return jobs

    def edit(self, name, old, new):
        path = os.path.join(self.project, name)
        with open(path) as file:
            text = file.read()
        if old not in text:
            raise RuntimeError(f"{self.tool.name}, {self.pipeline}: {name} has no {old!r}")
        with open(path, "w") as file:
            file.write(text.replace(old, new, 1))

    def results(self):
        """The contents of the results; None for one that is not there."""
        contents = []
        for name in self.tool.results[self.pipeline]:
            path = os.path.join(self.project, name)
            contents.append(open(path, "rb").read() if os.path.exists(path) else None)
        return contents

    def disk(self):
        """The bytes that it has on the disk."""
        taken = 0
        for directory, _, files in os.walk(self.here):
            for name in files:
                taken += os.lstat(os.path.join(directory, name)).st_blocks * 512
        return taken
