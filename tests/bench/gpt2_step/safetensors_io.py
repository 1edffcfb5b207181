"""Reads safetensors files (https://github.com/huggingface/safetensors, format): f32 and i32 tensors as numpy arrays."""
import json

import numpy

DTYPES = {"F32": numpy.float32, "I32": numpy.int32}


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    header_bytes = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + header_bytes])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + header_bytes + offset for offset in entry["data_offsets"])
        tensors[name] = numpy.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"]).copy()
    return tensors
