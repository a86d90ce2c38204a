"""Git: the bare store in `$STACKCTL_HOME`. The only place that imports GitPython."""

from stackctl.adapters.git.branches import GitBranches as GitBranches
from stackctl.adapters.git.merge import GitMerges as GitMerges
from stackctl.adapters.git.revisions import GitRevisions as GitRevisions
from stackctl.adapters.git.store import GitStore as GitStore
from stackctl.adapters.git.worktrees import GitWorkTrees as GitWorkTrees
