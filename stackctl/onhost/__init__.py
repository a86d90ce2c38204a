"""Programs that run on a host, uploaded as text and run by the interpreter that is there (Python 3.9 or newer).

They use the standard library and each other, nothing else of stackctl. `core/deploy/bundle.py` joins those that one
task needs into a single text.
"""
