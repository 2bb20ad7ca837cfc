"""One import, alone in a fresh interpreter. Nothing is imported before it that it might need."""

import sys
import time

name = sys.argv[1]
cpu, wall = time.process_time(), time.perf_counter()
__import__(name)
cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
print(f'{{"work_cpu": {cpu}, "work_wall": {wall}, "modules": {len(sys.modules)}}}')
