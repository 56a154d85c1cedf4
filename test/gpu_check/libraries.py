# Part of Hocket, under the Apache License v2.0.
"""NVIDIA's libraries, looked for where they are: what a Python's packages bring,
toolkits, and what the loader knows. The newest that the driver can use counts."""

import ctypes
import glob
import os
import re

from gpu_check import bundle

# Of each library: the variable that names it to Hocket, and how it is called.
LIBRARIES = {
    "cuBLASLt": ("HOCKET_CUBLASLT", "libcublasLt.so.1[0-9]"),
    "NVRTC": ("HOCKET_NVRTC", "libnvrtc.so.1[0-9]"),
}
TOOLKITS = ("/usr/local/cuda*/lib64", "/usr/local/cuda*/targets/*/lib")
PACKAGES = (
    "/usr/local/lib/python3*/dist-packages",
    "/usr/lib/python3*/dist-packages",
    "/opt/conda/lib/python3*/site-packages",
)
PROBE = "import site, sys; print('\\n'.join([*site.getsitepackages(), *sys.path]))"


def driver_version():
    """(major, minor) of the CUDA that the driver is of; None without one."""
    try:
        library = ctypes.CDLL(os.environ.get("HOCKET_LIBCUDA", "libcuda.so.1"))
        version = ctypes.c_int()
        if library.cuDriverGetVersion(ctypes.byref(version)):
            return None
    except (OSError, AttributeError):
        return None
    return version.value // 1000, version.value % 1000 // 10


def package_folders(python):
    """Where an interpreter keeps packages; those of others behind them."""
    status, output, _ = bundle.run(python, "-c", PROBE, timeout=60)
    own = [line for line in output.splitlines() if line] if not status else []
    others = [folder for pattern in PACKAGES for folder in sorted(glob.glob(pattern))]
    return list(dict.fromkeys([*own, *others]))


def folders(python):
    """Where libraries may lie, the likeliest first."""
    found = [
        folder
        for packages in package_folders(python)
        for folder in sorted(glob.glob(f"{glob.escape(packages)}/nvidia/*/lib"))
    ]
    found += [folder for pattern in TOOLKITS for folder in sorted(glob.glob(pattern))]
    _, known, _ = bundle.run("/sbin/ldconfig", "-p", timeout=60)
    found += [os.path.dirname(path) for path in re.findall(r"=> (/\S+)", known)]
    return list(dict.fromkeys(found))


def major(path):
    return int(re.search(r"\.so\.(\d+)", path)[1])


def usable(paths, driver):
    """Newest first of those that a driver can use; of as new ones, the first."""
    fitting = [path for path in paths if driver is None or major(path) <= driver[0]]
    return sorted(fitting, key=major, reverse=True)


def find(python):
    """{variable: path} of each library that is somewhere."""
    places, driver, found = folders(python), driver_version(), {}
    for variable, pattern in LIBRARIES.values():
        if os.environ.get(variable):
            continue
        paths = [p for place in places for p in sorted(glob.glob(f"{place}/{pattern}"))]
        for path in usable(paths, driver)[:1]:
            found[variable] = path
    return found
