# Part of Hocket, under the Apache License v2.0.
"""Golden images, what transformers makes of them, and samples of a plain loop.

Run it in this folder, with Pillow, NumPy and transformers:

    python3 images.py

images.txt:

    image NAME HEX              a file
    decoded NAME W H HEX        its pixels, as CLIPImageProcessorPil converts them
    crop NAME S HEX             resized and cropped to S x S
    patches NAME S P HEX        the same normalized, f32, in patches of P x P
    resize W H S SHA256         of pixels that a formula makes

image_samples.txt, of images of 6 x 6 pixels in patches of 3 x 3:

    source HEX                  the bytes of an image
    tokens ...                  of a sequence; 9 stands for part of an image
    uses ...                    the images of this sequence
    rows ...                    what stands in the place of each token
    pixels HEX                  its patches, f32
"""

import hashlib
import io
import struct
import zlib

import numpy as np
from PIL import Image
from transformers.models.clip.image_processing_pil_clip import CLIPImageProcessorPil

WIDTH, HEIGHT = 19, 13


def noise(width, height, channels):
    """Bytes that a formula makes; ImagesTest.cpp has the same."""
    i = np.arange(width * height * channels, dtype=np.uint64)
    mixed = (i * np.uint64(2654435761)) & np.uint64(0xFFFFFFFF)
    return (mixed >> np.uint64(24)).astype(np.uint8).reshape(height, width, channels)


def smooth(channels):
    """Ramps, of which JPEG keeps something."""
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    ramps = [x * 13, y * 19, 255 - x * 6 - y * 5, 40 + x * 3 + y * 7]
    return np.stack(ramps[:channels], -1).astype(np.uint8)


def png(width, height, depth, color, rows, interlace=0, palette=b"", alphas=b""):
    """A PNG file of rows of raw bytes: of kinds that Pillow does not write."""

    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    header = struct.pack(">IIBBBBB", width, height, depth, color, 0, 0, interlace)
    out = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header)
    if palette:
        out += chunk(b"PLTE", palette)
    if alphas:
        out += chunk(b"tRNS", alphas)
    data = zlib.compress(b"".join(b"\0" + bytes(row) for row in rows), 9)
    return out + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def packed(values, depth):
    """Rows of samples of `depth` bits."""
    for row in values:
        bits = "".join(format(int(v), f"0{depth}b") for v in row)
        bits += "0" * (-len(bits) % 8)
        yield int(bits, 2).to_bytes(len(bits) // 8, "big")


def interlaced(pixels):
    """Adam7's rows of an image [height, width, bytes of a pixel]."""
    steps = [
        (0, 0, 8, 8),
        (0, 4, 8, 8),
        (4, 0, 8, 4),
        (0, 2, 4, 4),
        (2, 0, 4, 2),
        (0, 1, 2, 2),
        (1, 0, 2, 1),
    ]
    for y, x, down, across in steps:
        part = pixels[y::down, x::across]
        if part.size:
            yield from (row.tobytes() for row in part)


def saved(image, kind, **options):
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def without_marker(jpeg, marker):
    """A JPEG file without the segments of a marker before its pixels."""
    out, at = jpeg[:2], 2
    while jpeg[at + 1] != 0xDA:
        size = struct.unpack(">H", jpeg[at + 2 : at + 4])[0] + 2
        if jpeg[at + 1] != marker:
            out += jpeg[at : at + size]
        at += size
    return out + jpeg[at:]


def png_files():
    gray, rgb = noise(WIDTH, HEIGHT, 1), noise(WIDTH, HEIGHT, 3)
    rgba, la = noise(WIDTH, HEIGHT, 4), noise(WIDTH, HEIGHT, 2)
    size = (WIDTH, HEIGHT)
    colors = noise(1, 16, 3).tobytes()

    yield "gray", png(*size, 8, 0, gray.reshape(HEIGHT, -1))
    for depth in (1, 2, 4):
        values = gray[..., 0] >> (8 - depth)
        yield f"gray{depth}", png(*size, depth, 0, packed(values, depth))
        yield f"palette{depth}", png(
            *size, depth, 3, packed(values, depth), palette=colors[: 3 << depth]
        )
    yield "gray-transparent", png(
        *size, 8, 0, gray.reshape(HEIGHT, -1), alphas=b"\0" + gray[5, 7].tobytes()
    )
    yield "rgb", png(*size, 8, 2, rgb.reshape(HEIGHT, -1))
    color = b"".join(b"\0" + bytes([v]) for v in rgb[3, 4])
    yield "rgb-transparent", png(*size, 8, 2, rgb.reshape(HEIGHT, -1), alphas=color)
    yield "rgba", png(*size, 8, 6, rgba.reshape(HEIGHT, -1))
    yield "la", png(*size, 8, 4, la.reshape(HEIGHT, -1))
    wide = noise(WIDTH, HEIGHT, 6).reshape(HEIGHT, -1)
    yield "rgb16", png(*size, 16, 2, wide)
    wide = noise(WIDTH, HEIGHT, 8).reshape(HEIGHT, -1)
    yield "rgba16", png(*size, 16, 6, wide)
    wide = noise(WIDTH, HEIGHT, 4).reshape(HEIGHT, -1)
    yield "la16", png(*size, 16, 4, wide)
    yield "palette8", png(
        *size,
        8,
        3,
        gray.reshape(HEIGHT, -1),
        palette=noise(1, 256, 3).tobytes(),
        alphas=noise(1, 200, 1).tobytes(),
    )
    yield "rgb-interlaced", png(*size, 8, 2, interlaced(rgb), interlace=1)
    yield "rgba-interlaced", png(*size, 8, 6, interlaced(rgba), interlace=1)
    yield "gray-narrow", png(1, 3, 8, 0, [[9], [99], [199]])


def jpeg_files():
    rgb = Image.fromarray(smooth(3))
    yield "jpeg444", saved(rgb, "jpeg", quality=90, subsampling=0)
    yield "jpeg422", saved(rgb, "jpeg", quality=80, subsampling=1)
    yield "jpeg420", saved(rgb, "jpeg", quality=70, subsampling=2)
    yield "jpeg-progressive", saved(rgb, "jpeg", quality=75, progressive=True)
    yield "jpeg-gray", saved(Image.fromarray(smooth(1)[..., 0]), "jpeg", quality=85)
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by who shows it
    yield "jpeg-turned", saved(rgb, "jpeg", exif=exif)
    cmyk = saved(Image.fromarray(smooth(4), "CMYK"), "jpeg", quality=90)
    yield "jpeg-cmyk", cmyk
    yield "jpeg-cmyk-no-adobe", without_marker(cmyk, 0xEE)


def processed(image, **options):
    processor = CLIPImageProcessorPil(**options)
    return np.asarray(processor(image, return_tensors="np")["pixel_values"][0])


def patches(pixels, size):
    """[3, S, S] to [patches, 3 * size * size]."""
    side = pixels.shape[1] // size
    cut = pixels.reshape(3, side, size, side, size).transpose(1, 3, 0, 2, 4)
    return np.ascontiguousarray(cut.reshape(side * side, -1), dtype="<f4")


def write_images(out):
    def print_line(*words):
        print(*words, file=out)

    raw = {"do_rescale": False, "do_normalize": False}
    for name, data in [*png_files(), *jpeg_files()]:
        image = Image.open(io.BytesIO(data))
        print_line("image", name, data.hex())
        pixels = processed(image, do_resize=False, do_center_crop=False, **raw)
        bytes_ = pixels.transpose(1, 2, 0).astype(np.uint8)
        print_line("decoded", name, image.width, image.height, bytes_.tobytes().hex())
        for size in (6, 16):
            square = {"size": {"shortest_edge": size}, "crop_size": size}
            pixels = processed(image, **square, **raw).transpose(1, 2, 0)
            print_line("crop", name, size, pixels.astype(np.uint8).tobytes().hex())
        if name in ("rgb", "jpeg420"):
            square = {"size": {"shortest_edge": 12}, "crop_size": 12}
            pixels = patches(processed(image, **square), 4)
            print_line("patches", name, 12, 4, pixels.tobytes().hex())
    for width, height, size in (
        (640, 427, 336),
        (427, 640, 224),
        (1025, 767, 14),
        (3000, 2, 8),
        (1, 300, 7),
        (1, 1, 5),
        (336, 336, 336),
        (336, 500, 336),
        (500, 336, 336),
        (17, 33, 64),
        (50, 41, 39),
        (100, 200, 56),  # Rows first,
        (100, 201, 56),  # and columns.
        (63, 290, 56),
        (57, 1000, 40),
        (600, 1500, 336),
    ):
        image = Image.fromarray(noise(width, height, 3))
        square = {"size": {"shortest_edge": size}, "crop_size": size}
        pixels = processed(image, **square, **raw).transpose(1, 2, 0)
        digest = hashlib.sha256(pixels.astype(np.uint8).tobytes()).hexdigest()
        print_line("resize", width, height, size, digest)


SAMPLE_IMAGE, SAMPLE_PATCH, SAMPLE_IMAGES, IMAGE_TOKEN = 6, 3, 2, 9
SAMPLES = (  # Tokens, an image as its number in brackets.
    [1, 2, [0], 3, 4, 5, 8, 8, 6, 7, [1], 8, 8],
    [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 8],
    [[2], 1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 3, 4, 5, 8, 8],
    [1, 2, 3, 4, 5, 6, 7, 8, 1, 2, 8, [0], [2]],
    [1, 1, 1, 8, 2, [1], 2, 8, 3, 3, 3, 3, 3, 3, 8, 8],
)


def write_samples(out):
    mean = (0.48145466, 0.4578275, 0.40821073)
    std = (0.26862954, 0.26130258, 0.27577711)
    side, patch = SAMPLE_IMAGE, SAMPLE_PATCH
    images = noise(side, side * 3, 3).reshape(3, side, side, 3)
    for image in images:
        print("source", image.tobytes().hex(), file=out)
    per_side = side // patch
    for sample in SAMPLES:
        tokens, rows, uses = [], [], []
        pixels = np.zeros((SAMPLE_IMAGES, per_side**2, 3 * patch**2), dtype="<f4")
        for token in sample:
            if isinstance(token, int):
                tokens.append(token)
                rows.append(-1)
                continue
            for cell in range(per_side**2):
                tokens.append(IMAGE_TOKEN)
                rows.append(len(uses) * per_side**2 + cell)
                top, left = cell // per_side * patch, cell % per_side * patch
                for color in range(3):
                    for y in range(patch):
                        for x in range(patch):
                            byte = images[token[0], top + y, left + x, color]
                            value = np.float32(np.float64(byte) * (1 / 255))
                            value = (value - np.float32(mean[color])) / np.float32(std[color])
                            element = (color * patch + y) * patch + x
                            pixels[len(uses), cell, element] = value
            uses.append(token[0])
        print("tokens", *tokens, file=out)
        print("uses", *uses, file=out)
        print("rows", *rows, file=out)
        print("pixels", pixels.tobytes().hex(), file=out)


for name, write in (("images.txt", write_images), ("image_samples.txt", write_samples)):
    with open(name, "w", encoding="ascii") as file:
        write(file)
