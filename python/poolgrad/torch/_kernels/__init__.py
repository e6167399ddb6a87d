"""CPU kernels with the signatures of PyTorch's pooling operators.

A kernel allocates what PyTorch would allocate, and makes a single call of the compiled module. Whatever that refuses,
and the few things it cannot see, is passed on to PyTorch's own kernel, which computes it or raises its own error. An
index that points outside its volume is the exception: PyTorch would write through it.

These functions run for every pooling of a program, so they avoid what costs more than a tenth of a microsecond. Each is
made for one operator, by a function that holds what does not change between calls.
"""
