"""Which commands change the outside world, as data: programs, their subcommands, names of scripts, SQL, code.

Outside is what running the command again would not show again: other machines, services, databases, mail, what git
records, files that are gone, processes that ended. Files that are written, packages that are installed and builds are
not: they can be read, installed and built again. In doubt a call counts as a change: then its result stays.
"""

from __future__ import annotations

from collections.abc import Mapping

ALWAYS: Mapping[str, str] = {
    "files that are gone or moved": "rm rmdir unlink mv rename shred truncate dd mkfs fdisk parted wipefs trash rimraf del"
    " erase rd ren remove-item move-item rename-item clear-content",
    "mail and messages": "mail mailx sendmail mutt msmtp swaks s-nail send-mailmessage wall notify-send osascript telnet nc"
    " ncat netcat",
    "processes, machines, users": "kill pkill killall taskkill stop-process shutdown reboot halt poweroff mount umount"
    " swapon swapoff useradd userdel usermod groupadd groupdel passwd chpasswd visudo at batch iptables nft ufw modprobe"
    " insmod rmmod ssh-copy-id stop-service start-service restart-service",
    "other machines, releases, infrastructure": "ftp lftp sftp scp rclone gsutil s3cmd twine vsce ovsx goreleaser"
    " semantic-release ansible ansible-playbook ansible-pull fab cap kamal skaffold eb sls serverless wrangler nomad",
    "databases made, filled, dropped": "createdb dropdb createuser dropuser pg_restore mysqladmin mysqlimport mongorestore"
    " mongoimport liquibase flyway",
    "agents, of which nobody knows what they did": "claude codex gemini opencode aider goose cursor-agent qwen",
}
"""Programs that change something whatever they are asked."""

READ_ONLY: Mapping[str, str] = {
    "git": "status diff log show blame annotate grep ls-files ls-tree ls-remote rev-parse rev-list describe shortlog"
    " reflog cat-file count-objects name-rev merge-base for-each-ref show-ref show-branch diff-tree diff-index diff-files"
    " check-ignore check-attr whatchanged range-diff cherry var version help fsck fetch add init clone archive"
    " format-patch branch| branch|-a branch|-r branch|-v branch|-vv branch|--all branch|--list branch|--show-current"
    " tag| tag|-l tag|--list tag|-n remote| remote|-v remote|show remote|get-url stash|list stash|show"
    " config|-l config|--list config|--get config|get config|list worktree|list submodule|status notes|show bisect|log",
    "kubectl": "get describe logs top explain version api-resources api-versions cluster-info diff wait kustomize"
    " config|view config|current-context config|get-contexts auth|can-i auth|whoami rollout|status rollout|history",
    "oc": "get describe logs explain version status whoami diff",
    "helm": "list ls get status history show search template lint version env repo|list repo|update dependency|list",
    "terraform": "plan show output validate fmt version graph providers init get state|list state|show workspace|list",
    "tofu": "plan show output validate fmt version graph providers init get state|list state|show workspace|list",
    "pulumi": "preview about whoami logs version stack| stack|ls stack|output config|get",
    "cdk": "diff synth list ls doctor",
    "docker": "ps images logs inspect stats version info top port diff history search build pull image|ls image|inspect"
    " image|history image|build container|ls container|logs container|inspect network|ls network|inspect volume|ls"
    " volume|inspect system|df context|ls manifest|inspect buildx|build buildx|ls",
    "compose": "ps logs config images top build pull ls version port events",
    "systemctl": "status is-active is-enabled is-failed list-units list-unit-files list-timers list-sockets"
    " list-dependencies show cat",
    "launchctl": "list print",
    "redis-cli": "get mget keys scan exists ttl pttl type info ping dbsize strlen hget hgetall hmget hkeys hlen hvals"
    " hscan hexists lrange llen lindex smembers sismember scard sscan zrange zcard zscore zscan zrank xrange xlen xinfo"
    " memory object time slowlog client|list config|get",
    "crontab": "-l",
    "sysctl": "-a",
    "az": "version",
    "vault": "status read list version",
    "etcdctl": "get version",
    "vercel": "ls list inspect logs whoami",
    "netlify": "status",
    "fly": "status logs",
    "flyctl": "status logs",
    "heroku": "logs ps apps config",
    "firebase": "projects:list apps:list",
    "railway": "status logs",
    "dbt": "compile ls list parse debug docs test deps",
}
"""Programs whose other subcommands change something. `a|b` is `a` followed by `b`, `a|` is `a` alone."""

CHANGING: Mapping[str, str] = {
    "npm": "publish unpublish deprecate dist-tag owner access version login logout adduser token uninstall remove rm un r",
    "pnpm": "publish version login remove rm uninstall",
    "yarn": "publish version login remove npm|publish",
    "bun": "publish remove rm",
    "cargo": "publish yank owner login logout release uninstall remove",
    "pip": "uninstall",
    "uv": "publish remove pip|uninstall",
    "poetry": "publish version remove",
    "hatch": "publish version",
    "flit": "publish",
    "gem": "push yank owner uninstall",
    "dotnet": "publish nuget|push nuget|delete",
    "nuget": "push delete",
    "apt": "remove purge autoremove",
    "apt-get": "remove purge autoremove",
    "yum": "remove erase",
    "dnf": "remove erase",
    "apk": "del",
    "brew": "uninstall remove services",
    "conda": "remove uninstall",
    "rails": "db:migrate db:drop db:reset db:seed db:setup db:rollback destroy runner",
    "manage.py": "migrate flush loaddata createsuperuser changepassword dbshell",
    "alembic": "upgrade downgrade stamp",
    "prisma": "migrate|deploy migrate|dev migrate|reset db|push db|execute db|seed",
    "tmux": "kill-server kill-session send-keys",
}
"""Programs of which only these subcommands change something."""

SAME_AS: Mapping[str, str] = {
    "podman": "docker",
    "docker-compose": "compose",
    "podman-compose": "compose",
    "valkey-cli": "redis-cli",
    "pip3": "pip",
    "mamba": "conda",
    "gmake": "make",
    "gradlew": "gradle",
    "mvnw": "mvn",
    "k": "kubectl",
    "glab": "gh",
    "artisan": "rails",
}

GROUPED_READS = "view list status diff checks browse search watch clone version help download"
"""What `gh` and `glab` are asked that only looks: `gh pr view`, `gh search issues`."""

CLOUDS = "aws gcloud az doctl linode-cli ibmcloud oci aliyun hcloud bq"
CLOUD_READS = (
    "describe list ls get head show view read search lookup wait version help info filter tail query preview estimate"
)
CLOUD_CHANGES = (
    "create delete update put set add remove rm cp mv mb rb sync run start stop reboot terminate deploy apply attach"
    " detach associate enable disable modify register send publish invoke import restore copy move ssh scp reset resize"
)
"""How a word of a cloud's command line begins; the first word that is one of either decides."""

SQL_CLIENTS = (
    "psql mysql mariadb sqlite3 sqlite duckdb sqlcmd isql clickhouse-client clickhouse cockroach snowsql usql"
    " pgcli mycli litecli sqlplus mongosh mongo cqlsh influx cypher-shell trino presto hive beeline spark-sql"
)
SQL_WRITES = (
    r"(?i)\b(?:insert\s+(?:or\s+\w+\s+)?into|update\s+\S+\s+set|delete\s+from|replace\s+into|merge\s+into|upsert|create"
    r"|drop|alter|truncate|rename|grant|revoke|vacuum|reindex|attach|detach|refresh|comment\s+on|call|exec(?:ute)?|load\s+data"
    r"|copy\s+\S+\s+from|import\s+into|optimize|kill|shutdown|set\s+password)\b"
    r"|\.(?:insert|update|delete|remove|drop|replace|save|rename|bulkwrite)(?:one|many|database)?\s*\("
    r"|\\(?:copy|i|ir|!)\s|^\s*\.(?:read|import|restore)\b"
)
SQL_READS = (
    r"(?i)\b(?:select|show|explain|describe|desc|pragma|with|values|find|findone|countdocuments|count|aggregate)\b"
    r"|\\(?:d\w{0,2}|l|c|x|conninfo)\b|\.(?:tables|schema|dump|databases|indexes)\b"
)
SQL_SCRIPTS = "-f --file -i --init-file"

FETCHERS = "curl wget http https xh invoke-restmethod invoke-webrequest irm iwr"
METHODS = "post put patch delete mkcol move copy"
METHOD_OPTIONS = "-X --request --method -Method"
BODIES = (
    "-d --data --data-raw --data-binary --data-urlencode --data-ascii -F --form --form-string -T --upload-file"
    " --json --post-data --post-file --body-data --body-file -Body -InFile -Q --quote --mail-from --mail-rcpt"
    " --field --raw-field --input"
)
CURL_VALUED = "AbcCDeEhHKmoPrtuUwxyYz"
"""Letters of curl's options that take a value: what follows them in one word is that value."""

WRAPPERS: Mapping[str, str] = {
    "sudo": "-u -g -h -p -C -r -t -U --user --group",
    "doas": "-u -C",
    "env": "-u -C --unset --chdir",
    "nohup": "",
    "time": "-f -o",
    "timeout": "-s -k --signal --kill-after",
    "nice": "-n",
    "ionice": "-c -n -p",
    "stdbuf": "-i -o -e",
    "setsid": "",
    "exec": "-a",
    "command": "",
    "builtin": "",
    "unbuffer": "",
    "watch": "-n --interval",
    "xargs": "-I -n -P -L -d -a -E -s --max-args --max-procs --replace --delimiter --arg-file",
    "parallel": "-j -I --jobs -a",
    "strace": "-e -o -p -s",
    "flock": "-w -E",
    "caffeinate": "-t -w",
    "npx": "-p --package",
    "bunx": "",
    "pnpx": "",
    "uvx": "--from --with -p",
    "pipx": "",
    "dotenv": "-f -e",
    "busybox": "",
}
"""Programs that run the command behind their options; the options that take a value."""

PLACE_FIRST = "timeout flock"
"""Wrappers with one word (a time, a file) before the command."""

RUNS: Mapping[str, str] = {
    "uv": "run",
    "poetry": "run",
    "pipenv": "run",
    "hatch": "run",
    "pdm": "run",
    "rye": "run",
    "conda": "run",
    "pipx": "run",
    "pnpm": "exec dlx",
    "npm": "exec x",
    "yarn": "dlx exec",
    "bun": "x",
    "bundle": "exec",
    "docker": "exec",
    "kubectl": "exec",
    "oc": "exec",
    "compose": "exec",
}
"""Subcommands that run what is behind them: `poetry run rm x`, `kubectl exec POD -- rm x`."""

PLACED = "docker kubectl oc compose"
"""Of those, the ones that name a place before the command."""

VALUED = (
    "-n --namespace -c --container --context -u --user -w --workdir -e --env -f --file -p --project --with"
    " --from --env-file --directory -C --git-dir --work-tree --kubeconfig --profile --region --output -o -h"
    " --host --port -a -H --chdir --prefix --filter --cwd -L"
)
"""Options before a subcommand that take a value."""

SHELLS = "bash sh zsh dash ksh fish ash pwsh powershell cmd su"
RUNNERS: Mapping[str, str] = {
    "make": "*",
    "ninja": "*",
    "just": "*",
    "task": "*",
    "rake": "*",
    "invoke": "*",
    "inv": "*",
    "nox": "*",
    "tox": "*",
    "ant": "*",
    "gradle": "*",
    "mvn": "*",
    "npm": "run run-script",
    "pnpm": "run *1",
    "yarn": "run *1",
    "bun": "run",
    "go": "run",
    "deno": "run task",
    "composer": "run run-script",
    "nx": "run run-many *1",
    "turbo": "run *1",
}
"""Programs that run targets with telling names: behind these subcommands, everywhere (`*`), or as the first word (`*1`)."""

INTERPRETERS = "python python2 python3 pypy pypy3 ipython node ruby perl php deno bun tsx ts-node java lua rscript"
CODE_OPTIONS = "-c -e --eval -p --print -r"
MODULE_OPTION = "-m"

VERBS = (
    "deploy deployment publish release upload push ship send notify mail email migrate migration rollback"
    " provision destroy teardown apply delete remove purge drop wipe cleanup reset seed restore promote submit"
    " post announce merge commit sync backup undeploy unpublish revoke rotate terminate decommission uninstall"
)
"""Words in the name of a script or target that tell of a change."""

CALM = "get find read test tests spec check lint dry plan status verify validate preview list show build types"
"""Words that take it back: `test_deploy.py`, `release-check`."""

HARMLESS = "--help --dry-run --dry-run=client --dry-run=server"
"""Options with which any program only tells something."""

CODE = (
    r"(?im)\bos\.(?:remove|unlink|rmdir|removedirs|renames?|replace|kill|killpg|system|popen|exec\w{1,4}|spawn\w{1,4})\b"
    r"|\bshutil\.(?:rmtree|move)\b|\.(?:unlink|rmdir)\(|\b(?:rm|unlink|rename)Sync\b|\bfs\.(?:rm|unlink|rename)\b"
    r"|\bsubprocess\b|\bchild_process\b|\bparamiko\b|\bsmtplib\b|\.send_?mail\(|\.send_message\("
    r"|\b(?:requests|httpx|session|client|http|axios|aiohttp|s|api)\.(?:post|put|patch|delete)\s*\("
    r"|\bmethod['\"]?\s*[=:]\s*['\"](?:post|put|patch|delete)\b|\burlopen\([^)]{0,300}\bdata\s*="
    r"|\bboto3\b|\bgoogle\.cloud\b|\bkubernetes\b|\bstripe\b|\btwilio\b"
    r"|\.execute(?:many|script)?\(\s*[frub]{0,2}['\"]{1,3}\s*(?:insert|update|delete|replace|create|drop|alter|truncate|grant)"
    r"|\.commit\(|\.(?:insert|update|delete|replace)_(?:one|many)\(|\.to_sql\("
    r"|^\s*(?:fill|click|dblclick|press|select_option|upload_file|drag_and_drop)\(|\.(?:fill|click|press|select_option)\("
)
"""Code that deletes, sends, writes to a service or a database, clicks, or starts programs."""

SHELL_ESCAPE = r"(?m)^\s*[!%]{1,2}(?:bash\b|sh\b|system\b)?(.*)$"
"""A line of a notebook that runs a shell command."""

READING_TOOLS = "read search"
"""Families of tools that change nothing, whoever serves them."""
