"""Where the wires meet: the only place that names concrete adapters, the real clock and the real ids.

One module for each thing that is put together; what needs a heavy library imports it when it is asked for.
"""
