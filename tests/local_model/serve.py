"""A small language model on a free port of loopback, with llama.cpp's own server.

    python serve.py WEIGHTS THREADS [TEMPLATE]

prints the server's address once it answers, and ends when its standard input does.
"""

import os
import sys

import xllamacpp

parameters = xllamacpp.CommonParams()
parameters.model.path = sys.argv[1]
parameters.n_ctx, parameters.n_parallel = 8192, 1
# They wait for each other busily: more than there are idle processors are slower than one.
parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = int(sys.argv[2])
parameters.hostnames, parameters.port = ["127.0.0.1"], 0
parameters.offline, parameters.ui, parameters.use_jinja = True, False, True
if len(sys.argv) > 3:
    with open(sys.argv[3], encoding="utf-8") as template:
        parameters.chat_template = template.read()
server = xllamacpp.Server(parameters)
print(server.listening_address, flush=True)
sys.stdin.read()
# Its threads do not end by themselves.
os._exit(0)
