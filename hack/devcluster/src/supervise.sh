# Runs a program and does not let it outlive whoever holds the other end of our
# standard input: a test process that is killed closes that end by dying, so
# nothing is left behind. Run as: sh -c THIS supervise PID_FILE CLEANUP PROGRAM [ARGUMENTS]
#
# Orders come in lines: kill, pause, resume. At the end of the input the
# program is killed and CLEANUP (a directory, or empty) is removed. A clean
# shutdown is worth nothing here: the data goes with the program.
pid_file=$1
cleanup=$2
shift 2

"$@" </dev/null &
child=$!
echo "$child" >"$pid_file"

# A background command has no standard input of its own: hand ours on as 3.
exec 3<&0
(
  while read -r order <&3; do
    case $order in
      kill) kill -KILL "$child" ;;
      pause) kill -STOP "$child" ;;
      resume) kill -CONT "$child" ;;
    esac
  done
  trap '' TERM # from here on, the cleaning up is finished first
  kill -KILL "$child" 2>/dev/null
  if [ -n "$cleanup" ]; then rm -rf -- "$cleanup"; fi
) &
reader=$!

wait "$child"
code=$?
rm -f -- "$pid_file"
kill -TERM "$reader" 2>/dev/null
wait "$reader"
exit "$code"
