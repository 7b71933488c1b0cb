"""The command `celery` without its interactive shell, whose import takes a third of a worker's start."""

import runpy
import sys
import types

shell = types.ModuleType("click_repl")
shell.register_repl = lambda *args, **kwargs: None
sys.modules["click_repl"] = shell
runpy.run_module("celery", run_name="__main__", alter_sys=True)
