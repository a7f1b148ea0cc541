#!/bin/sh
# guard.sh FOLDER COMMAND ARGUMENT...: runs a command that cannot outlive the process that started the guard.
# Standard input is a pipe whose other end only that process holds. A line on it names a signal for the command; its end
# means the starter is gone, however it died: the command is killed and FOLDER (unless empty) removed.
# The command's process id is written to descriptor 3; the guard exits as the command does.
folder=$1
shift
exec 4<&0
"$@" </dev/null 3>&- 4>&- &
child=$!
echo "$child" >&3
exec 3>&-
(
  while read -r signal <&4; do kill -s "$signal" "$child"; done
  # From here on the guard, which sees the command end, may not stop us.
  trap '' TERM
  kill -KILL "$child" || exit
  # Twice: a neighbour of the command may still be writing into the folder while it is being killed itself.
  [ -n "$folder" ] && { rm -rf "$folder"; sleep 1; rm -rf "$folder"; }
) >/dev/null 2>&1 &
watcher=$!
exec 4<&-
wait "$child"
code=$?
kill "$watcher" 2>/dev/null
wait "$watcher"
exit "$code"
