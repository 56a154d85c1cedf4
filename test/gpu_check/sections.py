# Part of Hocket, under the Apache License v2.0.
"""What is run on the machine with the GPU, a section of the report each.

A section is a dict: name, status (passed, failed, measured, skipped), why,
rows, and figures: what, value, unit, and the target where there is one. Each op
and each model is a process of its own, so that one that hangs or faults costs a
row and no more.
"""

import concurrent.futures
import functools
import hashlib
import itertools
import json
import re
import shutil
import time

from gpu_check import bundle, figures, report
from gpu_check.runner import Failed, Runner, Skip, death_of

TRAINING_STEPS = 20
HANG_TIMEOUT = 20  # seconds without progress, of a run
MOST_SAID = 4000  # characters of what one test says
OPS = "kernels_cuda_device_test"
ATTENTION, EXPERTS = re.compile("attention"), re.compile("expert|grouped|route|gate")


class Check:
    def __init__(self, opened, arguments, out):
        self.bundle, self.arguments, self.out = opened, arguments, out
        self.manifest = opened.manifest
        self.tiny = self.manifest["tiny"]
        self.models = [
            model for model in self.manifest["models"]
            if re.search(arguments.models, model["name"])
        ]  # fmt: skip
        self.runner = Runner(opened, arguments, out)
        self.run = self.runner.run
        self.sanitizers = self.runner.sanitizers(arguments.sanitize)
        self.explainers = self.runner.explainers()
        self.steps_of = {}  # seconds of a training step, by model
        self.speed_of = {}  # tokens/s
        self.keep = lambda **found: None  # tells the report what is known by now

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

    @functools.cached_property
    def gpu(self):
        """Why there is none, or an empty text."""
        row = self.doctor().get("CUDA driver", "missing: not told by the runtime")
        return "" if row.startswith("found") else row.removeprefix("missing: ")

    def need_gpu(self):
        if self.gpu:
            raise Skip(self.gpu)

    # The machine

    def machine(self):
        rows = [[name, text] for name, text in self.doctor().items()]
        query = "name,driver_version,clocks.max.sm,power.limit,memory.total"
        if shutil.which("nvidia-smi"):
            status, output, error = self.runner.start(
                ["nvidia-smi", f"--query-gpu={query}", "--format=csv,noheader"]
            )
            rows.append(["nvidia-smi", (error if status else output).strip()])
        else:
            rows.append(["nvidia-smi", "is not here"])
        rows.append(["kernels compiled for", self.manifest["arch"] or "no architecture"])
        return {"status": "measured", "columns": ["what", "is"], "rows": rows}

    # Right?

    def names_of(self, program, select):
        """Of the tests that a filter of GoogleTest's leaves."""
        status, output, error = self.run(
            program, "--gtest_list_tests", f"--gtest_filter={select}"
        )
        if status:
            raise Failed(f"{program} {death_of(status, output + error)}")
        names, suite = [], ""
        for line in output.splitlines():
            word = line.split("#")[0].rstrip()
            if word.startswith("  "):
                names.append(suite + word.strip())
            elif word.endswith("."):
                suite = word
        return names

    def rows_of(self, program, select, before=()):
        """The rows of tests that one process runs; Failed if it does not end."""
        path = self.out / f"{program}-{re.sub('[^a-z_0-9]', '', select)}.json"
        path.unlink(missing_ok=True)
        options = [f"--gtest_filter={select}", f"--gtest_output=json:{path}"]
        status, output, error = self.run(program, *options, before=before)
        if not path.exists():
            raise Failed(death_of(status, output + error))
        rows = []
        for suite in json.loads(path.read_text()).get("testsuites", []):
            for case in suite["testsuite"]:
                messages = [failure["failure"] for failure in case.get("failures", [])]
                result = "failed" if messages else case["result"].lower()
                rows.append([case["name"], result, case["time"], " ".join(messages)[:MOST_SAID]])
        if status and not any(row[1] == "failed" for row in rows):
            raise Failed(death_of(status, output + error))
        path.unlink()
        return rows

    def row_alone(self, program, name, tool=""):
        """Of one test in a process of its own, whatever becomes of it."""
        short = name.rsplit("/", 1)[-1] if "/" in name else name.split(".")[-1]
        short += f" ({tool})" if tool else ""
        begin = time.monotonic()
        try:
            rows = self.rows_of(program, name, self.sanitizers.get(tool, ()))
        except Failed as why:
            took = f"{time.monotonic() - begin:.1f}s"
            return [short, "failed", took, str(why)[:MOST_SAID]]
        return [short, *rows[0][1:]] if rows else [short, "failed", "", "did not run"]

    def rows_alone(self, program, name):
        """The same with every tool; what fails runs once more under a tool that
        may say why."""
        rows = []
        try:
            for tool in ("", *self.sanitizers):
                rows.append(self.row_alone(program, name, tool))
            if rows[0][1] == "failed" and not self.sanitizers and self.explainers:
                self.sanitizers_say_why(program, name, rows)
        except Skip as why:
            rows.append([name.rsplit("/", 1)[-1], "skipped", "", str(why)])
        return rows

    def sanitizers_say_why(self, program, name, rows):
        for tool, before in self.explainers.items():
            try:
                status, output, error = self.run(
                    program, f"--gtest_filter={name}", before=before
                )
            except Failed as why:
                said = str(why)
            else:
                said = f"status {status}: {(output + error).strip()[:MOST_SAID]}"
            rows.append([f"{rows[0][0]} ({tool})", "explained", "", said])

    def alone(self, program, names):
        """Each of these tests in a process of its own, --jobs of them at once:
        most of their time they compile, or compute what is expected."""
        found = [[] for _ in names]
        with concurrent.futures.ThreadPoolExecutor(self.arguments.jobs) as pool:
            runs = {pool.submit(self.rows_alone, program, name): i
                    for i, name in enumerate(names)}  # fmt: skip
            for run in concurrent.futures.as_completed(runs):
                found[runs[run]] = run.result()
                self.keep(rows=[*itertools.chain(*found)], columns=TEST_COLUMNS)
        return [*itertools.chain(*found)]

    def verdict(self, rows):
        if not rows:
            raise Failed("there is no such test")
        failed = sum(row[1] == "failed" for row in rows)
        skipped = [row for row in rows if row[1] == "skipped"]
        if len(skipped) == len(rows):
            raise Skip(skipped[0][3] or "every test was skipped: NVRTC is not on "
                       "this machine")  # fmt: skip
        return {
            "status": "failed" if failed else "passed",
            "why": f"{len(rows) - len(skipped)} tests, {failed} failed, "
            f"{len(skipped)} skipped",
            "columns": TEST_COLUMNS, "rows": rows,
        }  # fmt: skip

    def conformance(self):
        """All in one process, and each alone if that does not end."""
        self.need_gpu()
        select = "*DeviceConformance*/cuda"
        try:
            return self.verdict(self.rows_of("hal-test", select))
        except Failed as why:
            found = self.verdict(self.alone("hal-test", self.names_of("hal-test", select)))
            found["status"] = "failed"
            found["why"] += f"; all together: {str(why)[:300]}"
            return found

    def ops(self, wanted):
        self.need_gpu()
        return self.verdict(self.alone(OPS, [
            name for name in self.names_of(OPS, "*") if wanted(name.rsplit("/", 1)[-1])
        ]))  # fmt: skip

    def attention(self):
        return self.ops(ATTENTION.search)

    def experts(self):
        return self.ops(EXPERTS.search)

    def kernels(self):
        return self.ops(lambda name: not ATTENTION.search(name) and not EXPERTS.search(name))

    def train(self, program, data, steps, name, keeps=False):
        """(log, digest of the weights) of a run. What it has logged is there
        even if it is Failed."""
        log, save = self.log_of(name), self.out / f"{name}-checkpoint"
        log.unlink(missing_ok=True)
        options = ["--steps", steps, "--log", log, "--hang-timeout", HANG_TIMEOUT]
        if keeps:
            shutil.rmtree(save, ignore_errors=True)
            options += ["--save", save]
        try:
            status, output, error = self.run(
                "hocket-runtime", "train", self.bundle.path(program), "--data",
                self.bundle.path(data), *options,
            )  # fmt: skip
            (self.out / f"{name}.txt").write_text(output + error)
            if status:
                raise Failed(death_of(status, output[-500:] + error))
            weights = hashlib.sha256()
            for path in sorted(save.rglob("*.safetensors")) if keeps else ():
                weights.update(path.read_bytes())
        finally:
            shutil.rmtree(save, ignore_errors=True)
        return bundle.read_log(log), weights.hexdigest()

    def log_of(self, name):
        return self.out / f"{name}.jsonl"

    @functools.cache  # noqa: B019: there is one check
    def parity_run(self, which, i):
        about = self.manifest[which]
        return self.train(about["program"], about["data"], about["steps"],
                          f"{which}-{i}", keeps=True)  # fmt: skip

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

    def speed_log(self, model):
        """The log of a run, and what cut it short; at least some warm steps."""
        name = f"speed-{model['name']}"
        steps = 6 if self.tiny else TRAINING_STEPS
        try:
            return self.train(model["program"], "data/random", steps, name)[0], ""
        except Failed as why:
            path = self.log_of(name)
            log = bundle.read_log(path) if path.exists() else []
            if len(log) < figures.WARM_UP + 3:
                raise
            return log, f"{len(log)} steps: {str(why)[:200]}"

    def speed_row(self, model, peak):
        begin = time.monotonic()
        log, cut = self.speed_log(model)
        around = time.monotonic() - begin - sum(line["seconds"] for line in log)
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
        return about["parameter_count"], speed, share, around, cut

    def training(self):
        self.need_gpu()
        device = self.doctor().get("GPU 0", self.doctor().get("CUDA driver", ""))
        peak = figures.peak_of(device, self.arguments.peak)
        found = {
            "status": "measured", "rows": [], "figures": [],
            "why": f"peak {peak / 1e12:.0f} TFLOP/s" if peak else
                   "--peak TFLOPS says a peak that is not known",
            "columns": ["model", "parameters", "tokens", "tokens/s", "MFU",
                        "seconds beside steps", "what"],
        }  # fmt: skip
        for model in self.models:
            self.train_model(model, peak, found)
            self.keep(**found)
        return found

    def train_model(self, model, peak, found):
        """Its row and figures into `found`."""
        name, rows, numbers = model["name"], found["rows"], found["figures"]
        if "missing" in model:
            rows.append([name, "", "", "", "", "", f"skipped: {model['missing']}"])
            return
        shape = f"{model['batch']} x {model['sequence']}"
        try:
            count, speed, share, around, cut = self.speed_row(model, peak)
        except Skip as why:
            rows.append([name, "", shape, "", "", "", f"skipped: {why}"])
            return
        except Failed as why:
            found["status"] = "failed"
            rows.append([name, "", shape, "", "", "", f"failed: {why}"])
            return
        said = f"{share:.1%}" if share else "skipped: the GPU's peak is not known"
        rows.append([name, f"{count:,}", shape, f"{speed:,.0f}", said, f"{around:.1f}", cut])
        if share:
            is_goal = count >= 1.4e9 and not model["beside"]
            numbers.append(figure(f"MFU, {name}", share, "", 0.55 if is_goal else None))
        if model["beside"] in self.speed_of:
            what = f"tokens/s over those in bf16, {name}"
            numbers.append(figure(what, speed / self.speed_of[model["beside"]], ""))

    def pytorch(self):
        self.need_gpu()
        probe = "import torch; print(torch.__version__, torch.cuda.is_available())"
        try:
            status, output, error = self.runner.start(
                [self.arguments.python, "-c", probe]
            )
        except OSError as error:
            raise Skip(f"{self.arguments.python}: {error}") from None
        if status:
            raise Skip(f"{self.arguments.python} has no PyTorch: {error.strip()[-200:]}")
        if not output.strip().endswith("True"):
            raise Skip(f"PyTorch {output.split()[0]} finds no GPU")
        found = {
            "status": "measured", "why": f"PyTorch {output.split()[0]}", "rows": [],
            "figures": [],
            "columns": ["model", "Hocket tokens/s", "PyTorch tokens/s", "what"],
        }  # fmt: skip
        models = [model for model in self.models if model.get("in_pytorch")]
        best = {}
        for mode in ("compiled", "eager"):  # the faster as a rule, in case time ends
            for model in models:
                self.beside_pytorch(model, mode, best)
                found |= self.compared(models, best)
                self.keep(**found)
        return found

    def beside_pytorch(self, model, mode, best):
        """Into best[name]: the speed, what reached it, and why others did not."""
        name = model["name"]
        reached = best.setdefault(name, {"speed": 0, "how": "", "why": []})
        if name not in self.speed_of:
            reached["why"] = ["skipped: not trained by Hocket"]
            return
        try:
            result = self.pytorch_speed(model, mode)
        except (Failed, Skip) as reason:
            reached["why"].append(f"{mode}: {reason}")
            return
        speed = result["tokens_per_second"]
        how = f"{mode}, {result['attention']}, {result['batch']} x {model['sequence']}"
        if speed > reached["speed"]:
            reached |= {"speed": speed, "how": how}

    def compared(self, models, best):
        """Rows and figures of what is known by now."""
        rows, numbers = [], []
        for model in models:
            name = model["name"]
            reached, own = best.get(name), self.speed_of.get(name)
            if not reached:
                continue
            said = f"{reached['speed']:,.0f} ({reached['how']})" if reached["speed"] else ""
            rows.append([name, f"{own:,.0f}" if own else "", said, "; ".join(reached["why"])])
            if reached["speed"]:
                what = f"tokens/s over PyTorch's, {name}"
                numbers.append(figure(what, own / reached["speed"], "", 1.2))
        return {"rows": rows, "figures": numbers}

    def pytorch_speed(self, model, mode):
        """What torch_train.py says."""
        script = self.bundle.path("gpu_check/torch_train.py")
        status, output, error = self.runner.start(
            [self.arguments.python, script, json.dumps(model | {"mode": mode})]
        )
        if status:
            raise Failed(error.strip()[-300:])
        return json.loads(output.splitlines()[-1])

    def instructions(self):
        """What each model's instructions take by themselves."""
        self.need_gpu()
        found = {
            "status": "measured", "rows": [], "figures": [],
            "why": "times-*.json beside this has every kind of instruction",
            "columns": ["model", "instruction", "what"],
        }  # fmt: skip
        for model in self.models:
            if "missing" in model:
                found["rows"].append([model["name"], "", f"skipped: {model['missing']}"])
                continue
            try:
                self.time_instructions(model, found)
            except Skip as why:
                found["rows"].append([model["name"], "", f"skipped: {why}"])
            except Failed as why:
                found["status"] = "failed"
                found["rows"].append([model["name"], "", f"failed: {why}"])
            self.keep(**found)
        return found

    def time_instructions(self, model, found):
        status, output, error = self.run(
            "program_times", self.bundle.path(model["program"]),
            0 if self.tiny else 0.02,
        )  # fmt: skip
        if status:
            raise Failed(death_of(status, error))
        (self.out / f"times-{model['name']}.json").write_text(output)
        times = json.loads(output)
        found["figures"] += self.figures_of(model, times)
        found["rows"] += [
            [model["name"], row["name"], f"skipped: {row['error']}"]
            for row in times["instructions"]
            if "error" in row
        ]

    def figures_of(self, model, times):
        name, rows = model["name"], times["instructions"]
        found = []
        gemms = figures.linear(rows)
        if gemms:
            found.append(figure(f"GEMMs, {name}", gemms[0], "TFLOP/s"))
            what = f"GEMMs over cuBLASLt's best without epilogues, {name}"
            found.append(figure(what, gemms[1], "", 0.95))
        for op, speed, share in figures.of_experts(rows):
            found.append(figure(f"{op}, {name}", speed, "TFLOP/s"))
            what = f"{op} over one dense GEMM of cuBLASLt, {name}"
            found.append(figure(what, share, ""))
        for op, goal in (("attention_forward", 500), ("attention_backward", 400),
                         ("attention_backward_joint", None)):  # fmt: skip
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


TEST_COLUMNS = ["test", "result", "time", "what"]
# What is worth most comes first: the budget may end before the list does.
SECTIONS = (
    ("The machine", "machine"),
    ("The contract of devices", "conformance"),
    ("Attention against its references", "attention"),
    ("Experts against their references", "experts"),
    ("Other kernels against their references", "kernels"),
    ("Losses against the CPU target's", "parity"),
    ("The same in fp8", "parity_fp8"),
    ("Two runs, the same bits", "repeats"),
    ("Training speed", "training"),
    ("Kernels' speed", "instructions"),
    ("PyTorch", "pytorch"),
)


def examine(check, method, section):
    """The section's end, whatever the method comes to."""
    try:
        section |= getattr(check, method)()
    except Skip as why:
        section |= {"status": "skipped", "why": str(why)}
    except Failed as why:
        section |= {"status": "failed", "why": str(why)}
    except (OSError, ValueError, KeyError) as why:  # What a program wrote.
        section |= {"status": "failed", "why": f"{type(why).__name__}: {why}"}


def run_all(opened, arguments, out):
    """The report is there after each op and each model, as far as it is known."""
    check, results = Check(opened, arguments, out), []
    wanted = [word for word in arguments.only.split(",") if word]
    for title, method in SECTIONS:
        section = {"name": title, "status": "under way", "rows": [], "columns": [],
                   "figures": [], "why": "", "seconds": 0}  # fmt: skip
        results.append(section)
        start = time.monotonic()

        def keep(section=section, start=start, **found):
            status = section["status"]
            section |= found | {"seconds": round(time.monotonic() - start, 1)}
            section["status"] = status
            report.write(results, out)

        check.keep = keep
        if wanted and not any(word in method for word in wanted):
            section |= {"status": "skipped", "why": "not asked for (--only)"}
        else:
            keep()
            examine(check, method, section)
        section["seconds"] = round(time.monotonic() - start, 1)
        report.write(results, out)
        print(f"{title}: {section['status']}", flush=True)
    check.runner.close()
    return results
