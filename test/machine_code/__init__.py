# Part of Hocket, under the Apache License v2.0.
"""What NVIDIA's assembler makes of kernels, against the budgets beside them.

`kernels` collects the kernels of programs, `nvrtc` compiles them, `sass` reads the
machine code, `budgets` knows what each may take.
"""
