# Part of Hocket, under the Apache License v2.0.
"""What is run on the machine with the GPU, a section of the report each.

A section is a dict: name, status (passed, failed, measured, skipped), why,
rows, and figures: what, value, unit, and the target where there is one.
"""

import functools
import glob
import hashlib
import json
import os
import shutil
import subprocess
import time

from gpu_check import bundle, figures

LIMIT = 900  # seconds of one program
TRAINING_STEPS = 20
LIBRARIES = {
    "cuBLASLt": ("HOCKET_CUBLASLT", "libcublasLt.so.1[23]"),
    "NVRTC": ("HOCKET_NVRTC", "libnvrtc.so.1[23]"),
}
PLACES = (
    "/usr/local/cuda*/lib64",
    "/usr/local/lib/python3*/dist-packages/nvidia/*/lib",
    "/usr/lib/python3*/dist-packages/nvidia/*/lib",
    "/opt/conda/lib/python3*/site-packages/nvidia/*/lib",
)


class Skip(Exception):
    """Why a section has nothing to say."""


class Failed(Exception):
    """What is wrong."""


class Check:
    def __init__(self, opened, arguments, out):
        self.bundle, self.arguments, self.out = opened, arguments, out
        self.manifest = opened.manifest
        self.tiny = self.manifest["tiny"]
        self.cache = out / "compiled-kernels"
        self.cache.mkdir(mode=0o700, exist_ok=True)
        self.environment = os.environ | {
            "HOCKET_TEST_GPU": "present",
            "HOCKET_CACHE": str(self.cache),
        }
        self.steps_of = {}  # seconds of a training step, by model
        self.speed_of = {}  # tokens/s
        self.use_libraries()

    def use_libraries(self):
        """The machine's own libstdc++ where it suffices."""
        before = os.environ.get("LD_LIBRARY_PATH", "")
        lib = self.bundle.path("lib")
        for places in ((lib,), (lib, lib / "base")):
            path = ":".join([*map(str, places), *([before] if before else [])])
            self.environment["LD_LIBRARY_PATH"] = path
            if self.run("hocket-runtime", "--help")[0] == 0:
                return
        raise bundle.Unusable(
            "the runtime does not start here: " + self.run("hocket-runtime", "--help")[2]
        )

    def run(self, name, *arguments):
        """(status, stdout, stderr) of a program of the bundle."""
        command = [str(self.bundle.path("bin") / name), *map(str, arguments)]
        try:
            done = subprocess.run(
                command, env=self.environment, capture_output=True, text=True,
                timeout=LIMIT, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            raise Failed(f"{name} took longer than {LIMIT} s") from None
        return done.returncode, done.stdout, done.stderr

    def doctor(self):
        """{what: the rest of its line}"""
        _, output, _ = self.run("hocket-runtime", "doctor")
        rows = {}
        for line in output.splitlines():
            for word in (" found ", " missing "):
                if word in line:
                    name, rest = line.split(word, 1)
                    rows[name.strip()] = f"{word.strip()}: {rest.strip()}"
        return rows

    def find_libraries(self):
        """Those that came with PyTorch or a toolkit that the loader knows not."""
        rows = self.doctor()
        for name, (variable, pattern) in LIBRARIES.items():
            if rows.get(name, "").startswith("found"):
                continue
            found = [p for place in PLACES for p in glob.glob(f"{place}/{pattern}")]
            if found:
                self.environment[variable] = sorted(found)[-1]

    @functools.cached_property
    def gpu(self):
        """Why there is none, or an empty text."""
        self.find_libraries()
        row = self.doctor().get("CUDA driver", "missing: not told by the runtime")
        return "" if row.startswith("found") else row.removeprefix("missing: ")

    def need_gpu(self):
        if self.gpu:
            raise Skip(self.gpu)

    # The machine

    def machine(self):
        self.gpu  # noqa: B018: libraries are looked for
        rows = [[name, text] for name, text in self.doctor().items()]
        query = "name,driver_version,clocks.max.sm,power.limit,memory.total"
        if shutil.which("nvidia-smi"):
            status, output, error = bundle.run(
                "nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"
            )
            rows.append(["nvidia-smi", (error if status else output).strip()])
        else:
            rows.append(["nvidia-smi", "is not here"])
        rows.append(["kernels compiled for", self.manifest["arch"] or "no architecture"])
        return {"status": "measured", "columns": ["what", "is"], "rows": rows}

    # Right?

    def tests(self, name, select):
        self.need_gpu()
        report = self.out / f"{name}.json"
        options = [f"--gtest_output=json:{report}"]
        status, output, error = self.run(name, f"--gtest_filter={select}", *options)
        if not report.exists():
            raise Failed(f"{name} ended with status {status}: {(output + error)[-2000:]}")
        suites = json.loads(report.read_text()).get("testsuites", [])
        rows, failures = [], 0
        for case in (case for suite in suites for case in suite["testsuite"]):
            messages = [f["failure"] for f in case.get("failures", [])]
            result = "failed" if messages else case["result"].lower()
            failures += bool(messages)
            rows.append([case["name"], result, case["time"], " ".join(messages)[:500]])
        if not rows:
            raise Failed(f"{name} has no test {select}")
        ran = [row for row in rows if row[1] != "skipped"]
        if not ran:
            raise Skip("every test was skipped: NVRTC is not on this machine")
        return {
            "status": "failed" if failures or status else "passed",
            "why": f"{len(ran)} tests, {failures} failed, {len(rows) - len(ran)} skipped",
            "columns": ["test", "result", "time", "what"],
            "rows": rows,
        }

    def conformance(self):
        return self.tests("hal-test", "*DeviceConformance*/cuda")

    def kernels(self):
        select = "*/rope" if self.tiny else "*"
        return self.tests("kernels_cuda_device_test", select)

    def train(self, program, data, steps, name):
        """(log, digest of the weights) of a run."""
        log, save = self.out / f"{name}.jsonl", self.out / f"{name}-checkpoint"
        log.unlink(missing_ok=True)
        options = ["--steps", steps, "--log", log]
        keeps = name.startswith("parity")
        if keeps:
            shutil.rmtree(save, ignore_errors=True)
            options += ["--save", save]
        status, _, error = self.run(
            "hocket-runtime", "train", self.bundle.path(program), "--data",
            self.bundle.path(data), *options,
        )  # fmt: skip
        if status:
            raise Failed(error.strip()[-2000:])
        weights = hashlib.sha256()
        for path in sorted(save.rglob("*.safetensors")) if keeps else ():
            weights.update(path.read_bytes())
        shutil.rmtree(save, ignore_errors=True)
        return bundle.read_log(log), weights.hexdigest()

    @functools.cache  # noqa: B019: there is one check
    def parity_run(self, which, i):
        about = self.manifest[which]
        return self.train(about["program"], about["data"], about["steps"], f"{which}-{i}")

    def parity(self, which="parity"):
        self.need_gpu()
        about = self.manifest[which]
        expected = bundle.read_log(self.bundle.path(about["expected"]))
        got = self.parity_run(which, 1)[0]
        distance = bundle.greatest_difference(got, expected)
        every = max(1, len(got) // 10)
        rows = [
            [a["step"], a["loss"], b["loss"], f"{a['loss'] / b['loss'] - 1:+.2e}"]
            for a, b in list(zip(got, expected, strict=True))[::every]
        ]
        return {
            "status": "passed" if distance <= about["band"] else "failed",
            "why": f"{len(got)} steps of {about['model']}, greatest relative difference "
            f"{distance:.2e}; the band is {about['band']:.2e}, twice the greatest between "
            "runs of the CPU target whose first weights round to the same bf16",
            "columns": ["step", "GPU", "CPU target", "difference"],
            "rows": rows,
        }

    def parity_fp8(self):
        return self.parity("parity_fp8")

    def repeats(self):
        self.need_gpu()
        (one, first), (two, second) = (self.parity_run("parity", i) for i in (1, 2))
        numbers = [
            [(line["loss"], line.get("grad_norm")) for line in log] for log in (one, two)
        ]
        same = numbers[0] == numbers[1] and first == second
        return {
            "status": "passed" if same else "failed",
            "why": f"losses, norms and weights after {len(one)} steps "
            + ("have the same bits" if same else "differ"),
            "columns": ["run", "SHA-256 of the weights"],
            "rows": [["first", first], ["second", second]],
        }

    # Fast?

    def speed_row(self, model, peak):
        log, _ = self.train(
            model["program"], "data/random", 6 if self.tiny else TRAINING_STEPS,
            f"speed-{model['name']}",
        )  # fmt: skip
        seconds = figures.median_seconds(log)
        speed = model["batch"] * model["sequence"] / seconds
        self.steps_of[model["name"]], self.speed_of[model["name"]] = seconds, speed
        status, output, error = self.run(
            "hocket-runtime", "inspect", self.bundle.path(model["program"]), "--json"
        )
        if status:
            raise Failed(error)
        about = json.loads(output)
        share = speed * about["flops_per_token"] / peak if peak else None
        return about["parameter_count"], speed, share

    def training(self):
        self.need_gpu()
        device = self.doctor().get("GPU 0", self.doctor().get("CUDA driver", ""))
        peak = figures.peak_of(device, self.arguments.peak)
        rows, numbers = [], []
        for model in self.manifest["models"]:
            if "missing" in model:
                rows.append([model["name"], "", "", "", f"skipped: {model['missing']}"])
                continue
            count, speed, share = self.speed_row(model, peak)
            shape = f"{model['batch']} x {model['sequence']}"
            said = f"{share:.1%}" if share else "skipped: the GPU's peak is not known"
            rows.append([model["name"], f"{count:,}", shape, f"{speed:,.0f}", said])
            if share:
                is_goal = count >= 1.4e9 and not model["beside"]
                target = 0.55 if is_goal else None
                numbers.append(figure(f"MFU, {model['name']}", share, "", target))
            if model["beside"] in self.speed_of:
                what = f"tokens/s over those in bf16, {model['name']}"
                numbers.append(figure(what, speed / self.speed_of[model["beside"]], ""))
        return {
            "status": "measured", "rows": rows, "figures": numbers,
            "why": f"peak {peak / 1e12:.0f} TFLOP/s" if peak else
                   "--peak TFLOPS says a peak that is not known",
            "columns": ["model", "parameters", "tokens", "tokens/s", "MFU"],
        }  # fmt: skip

    def pytorch(self):
        self.need_gpu()
        probe = "import torch; print(torch.__version__, torch.cuda.is_available())"
        status, output, error = bundle.run(self.arguments.python, "-c", probe)
        if status:
            raise Skip(f"{self.arguments.python} has no PyTorch: {error.strip()[-200:]}")
        if not output.strip().endswith("True"):
            raise Skip(f"PyTorch {output.split()[0]} finds no GPU")
        rows, numbers = [], []
        for model in self.manifest["models"]:
            if model.get("beside"):
                continue  # PyTorch alone has no fp8.
            speed = self.speed_of.get(model["name"])
            if speed is None:
                rows.append([model["name"], "", "", "skipped: not trained by Hocket"])
                continue
            best, why = None, []
            for mode in ("eager", "compiled"):
                found = self.pytorch_speed(model, mode)
                if isinstance(found, str):
                    why.append(f"{mode}: {found}")
                elif best is None or found > best[0]:
                    best = found, mode
            if best is None:
                rows.append([model["name"], f"{speed:,.0f}", "", f"skipped: {why}"])
                continue
            name = f"{best[0]:,.0f} ({best[1]})"
            rows.append([model["name"], f"{speed:,.0f}", name, " ".join(why)])
            what = f"tokens/s over PyTorch's, {model['name']}"
            numbers.append(figure(what, speed / best[0], "", 1.2))
        return {
            "status": "measured", "why": f"PyTorch {output.split()[0]}", "rows": rows,
            "figures": numbers,
            "columns": ["model", "Hocket tokens/s", "PyTorch tokens/s", "what"],
        }  # fmt: skip

    def pytorch_speed(self, model, mode):
        """Tokens/s, or why there are none."""
        script = self.bundle.path("gpu_check/torch_train.py")
        status, output, error = bundle.run(
            self.arguments.python, script, json.dumps(model | {"mode": mode})
        )
        if status:
            return error.strip()[-300:]
        return json.loads(output.splitlines()[-1])["tokens_per_second"]

    def instructions(self):
        """What each model's instructions take by themselves."""
        self.need_gpu()
        rows, numbers = [], []
        for model in self.manifest["models"]:
            if "missing" in model:
                rows.append([model["name"], "", f"skipped: {model['missing']}"])
                continue
            status, output, error = self.run(
                "program_times", self.bundle.path(model["program"]),
                0 if self.tiny else 0.02,
            )  # fmt: skip
            if status:
                raise Failed(error)
            (self.out / f"times-{model['name']}.json").write_text(output)
            times = json.loads(output)
            numbers += self.figures_of(model, times)
            rows += [
                [model["name"], row["name"], f"skipped: {row['error']}"]
                for row in times["instructions"]
                if "error" in row
            ]
        return {
            "status": "measured", "rows": rows, "figures": numbers,
            "why": "times-*.json beside this has every kind of instruction",
            "columns": ["model", "instruction", "what"],
        }  # fmt: skip

    def figures_of(self, model, times):
        name, rows = model["name"], times["instructions"]
        found = []
        products = figures.linear(rows)
        if products:
            found.append(figure(f"products, {name}", products[0], "TFLOP/s"))
            what = f"products over cuBLASLt's best without epilogues, {name}"
            found.append(figure(what, products[1], "", 0.95))
        for op, goal in (("attention_forward", 500), ("attention_backward", 400)):
            for sequence, dim, causal, speed in figures.attention(rows, op):
                what = f"{op} {'causal ' * causal}{sequence} x {dim}, {name}"
                is_goal = dim == 128 and causal and sequence >= 4096
                found.append(figure(what, speed, "TFLOP/s", goal if is_goal else None))
        for what, (speed, share) in figures.bandwidth(times).items():
            found.append(figure(f"{what}, {name}", speed / 1e9, "GB/s"))
            if what != "copy":
                share_of = f"{what} over copying, {name}"
                found.append(figure(share_of, share, "", 0.85))
        step = self.steps_of.get(name)
        if step:
            share = figures.gaps(times, step)
            found.append(figure(f"gaps between kernels, {name}", share, "", 0.03, True))
        return found


def figure(what, value, unit, target=None, below=False):
    """With a target: at least that, or at most."""
    reached = None
    if target is not None:
        reached = value <= target if below else value >= target
    return {"what": what, "value": value, "unit": unit, "target": target,
            "at_most": below, "reached": reached}  # fmt: skip


SECTIONS = (
    ("The machine", "machine"),
    ("The contract of devices", "conformance"),
    ("Kernels against their references", "kernels"),
    ("Losses against the CPU target's", "parity"),
    ("The same in fp8", "parity_fp8"),
    ("Two runs, the same bits", "repeats"),
    ("Training speed", "training"),
    ("PyTorch", "pytorch"),
    ("Kernels' speed", "instructions"),
)


def run_all(opened, arguments, out):
    check, results = Check(opened, arguments, out), []
    wanted = [word for word in arguments.only.split(",") if word]
    for title, method in SECTIONS:
        section = {"name": title, "rows": [], "columns": [], "figures": [], "why": ""}
        start = time.monotonic()
        try:
            if wanted and not any(word in method for word in wanted):
                raise Skip("not asked for (--only)")
            section |= getattr(check, method)()
        except Skip as why:
            section |= {"status": "skipped", "why": str(why)}
        except Failed as why:
            section |= {"status": "failed", "why": str(why)}
        except (OSError, ValueError, KeyError) as why:  # What a program wrote.
            section |= {"status": "failed", "why": f"{type(why).__name__}: {why}"}
        section["seconds"] = round(time.monotonic() - start, 1)
        print(f"{title}: {section['status']}", flush=True)
        results.append(section)
    shutil.rmtree(check.cache, ignore_errors=True)
    return results
