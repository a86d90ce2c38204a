"""Git: the bare store in `$STACKCTL_HOME`. The only place that imports GitPython."""

from stackctl.adapters.git.store import GitStore as GitStore
