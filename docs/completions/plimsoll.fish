# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_plimsoll_global_optspecs
    string join \n h/help V/version
end

function __fish_plimsoll_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_plimsoll_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_plimsoll_using_subcommand
    set -l cmd (__fish_plimsoll_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c plimsoll -n "__fish_plimsoll_needs_command" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -s V -l version -d 'Print version'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "inspect" -d 'Show the state of this machine\'s memory in the kernel\'s own terms'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "explain" -d 'Explain a tunable: its value in bytes here, the kernel\'s own choice, what goes with it'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "lint" -d 'Find what is wrong with settings: units, pairs, dead keys, values that kill'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "apply" -d 'Change this machine\'s settings so that the change can be undone'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "confirm" -d 'Confirm a change, so that it is not taken back'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "undo" -d 'Undo changes: restore every old value and remove their lines from native files'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "status" -d 'Show the changes that stand, and whether their values still hold; needs no root'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "history" -d 'Show every change of this boot and those that outlived a reboot, and what became of each; needs no root'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "watch" -d 'Take a change back unless it is confirmed: `apply` starts this'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "guard" -d 'The guard plimsoll-guard: what it would do here, what it does, and why; docs/guard.md says more'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "ksm" -d 'Kernel samepage merging: what it would save here, before it is switched on'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "studies" -d 'List the built-in studies: the question each answers, the time and memory it takes, and what can run it'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "predict" -d 'Predict what a study\'s settings will do, on the model: no root, no VM, in seconds'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "prove" -d 'Prove a study on a real kernel in a throwaway VM, and compare with the prediction'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "report" -d 'Show prediction and proof side by side, with the calibration error of every figure'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "calibrate" -d 'Measure what elementary operations cost on a kernel, and how it leaves the memory after boot'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "fidelity" -d 'Compare the model with every recorded kernel, study by study, and list what it misses'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "replay" -d 'Replay a trace of accesses through the kernel\'s LRU and print its miss ratio'
complete -c plimsoll -n "__fish_plimsoll_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l from -d 'Show a saved capture: what EVIDENCE does' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l at -d 'Show the snapshot of this name [default: the last that has one]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l kernel -d 'The kernel of the evidence, where it does not say: what uname -r prints' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l page-size -d 'Its page size in bytes, or as in 64K, where it does not say' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l cpus -d 'Its number of CPUs, where it does not say' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l save -d 'Save what was read as a capture, to show later, for a bug report or for a colleague' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l interval -d 'Seconds over which rates are taken; 0 takes none' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l section -d 'Show only these sections [default: one screen, the diagnosis first]' -r -f -a "diagnosis\t'What is wrong, worst first'
kernel-log\t'OOM kills and failed allocations'
timeline\t'What happened over time'
tools\t'What top, ps and slabtop list'
memory\t'What the memory is used for'
zones\t'Free pages of each zone against its watermarks'
available\t'How MemAvailable comes about'
dirty\t'What may be dirty, and what is'
lists\t'The page lists and what the next pass scans'
reclaim\t'What reclaim did'
refaults\t'Evicted pages that were needed again'
pressure\t'Time in which tasks waited'
swap\t'Swap areas and what swappiness does here'
huge-pages\t'Transparent and reserved huge pages'
lru\t'The multi-generation LRU'
ksm\t'Samepage merging'
control-groups\t'Control groups that bind memory'
check\t'Our numbers against the kernel\'s'
unreadable\t'What could not be read'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l explain -d 'Show the page of a finding; without a name all findings' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l charset -d 'Draw with these characters [default: what the locale says]' -r -f -a "unicode\t'Box-drawing characters and arrows'
ascii\t'Seven bits'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l redact -d 'Save it without command lines and the names of processes, control groups, hosts and files'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l watch -d 'Show the state again after every interval, until interrupted'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l all -d 'Show everything, and not one screen'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l brief -d 'Show only the diagnosis'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l quiet -d 'Show nothing; only the exit code of --check answers'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -l check -d 'Answer by the exit code whether every recomputed number equals the kernel\'s: 0 yes, 1 no, 2 nothing could be recomputed'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand inspect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l of -d 'Explain it for the machine that this evidence comes from: whatever `inspect` reads; - is standard input' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l kernel -d 'The kernel of the evidence, where it does not say: what uname -r prints' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l page-size -d 'Its page size in bytes, or as in 64K, where it does not say' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l cpus -d 'Its number of CPUs, where it does not say' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l charset -d 'Draw with these characters [default: what the locale says]' -r -f -a "unicode\t'Box-drawing characters and arrows'
ascii\t'Seven bits'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l of -d 'The machine whose numbers are used for files: evidence as for inspect, or "this"' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l at -d 'Check the snapshot of this name in a capture [default: the last]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l select -d 'Check only these rules' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l ignore -d 'Do not check these rules' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l fail-on -d 'The lowest severity for which the exit code is 1 [default: warning]' -r -f -a "note\t'Worth knowing; it does no harm'
warning\t'It costs, or does not do what it says'
error\t'The kernel refuses it, or it kills processes or the machine'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l format -d 'How to write what was found' -r -f -a "human\t'Text for a terminal'
json\t'One JSON document in a line'
sarif\t'SARIF 2.1.0, with the list of all rules'
github\t'Annotations of a GitHub workflow'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l explain -d 'Show the page of a rule; without a name all rules' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l json -d 'Write JSON, one document in a line: as --format json'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l fix -d 'Make the changes that are certain to be right, keep each old file as NAME.plimsoll-old, show the changes, and lint again'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l undo -d 'Restore the files that --fix kept'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -l diff -d 'Show what --fix would change, and change nothing'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l confirm -d 'Undo it after this time unless it is confirmed [default: 10m for what has a risk]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l watch -d 'Watch stalls, refaults, swap-ins and kills for this time, and undo the change when one is far above what it was in the minute before the write' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l baseline -d 'Seconds before the write that --watch compares with' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l why -d 'The reason, for the history and the native file' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l dry-run -d 'Show the plan and write nothing'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l now -d 'Confirm it at once, whatever its risk'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l persist -d 'Keep it over reboots once it is confirmed, in a file of sysctl.d or tmpfiles.d'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l even-so -d 'Write even what by the formulas kills this machine'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand apply" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand confirm" -l persist -d 'Keep it over reboots, in a file of sysctl.d or tmpfiles.d'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand confirm" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand confirm" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand undo" -l all -d 'Undo every change that stands, the latest first'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand undo" -l dry-run -d 'Show what would be restored, and change nothing; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand undo" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand undo" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand status" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand history" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand history" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand watch" -l detached -d 'Leave the session of whoever started it'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand watch" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "check" -d 'Check a configuration, and say in bytes what each policy would do here; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "try" -d 'Run one policy of the guard for a while, and take back what it did; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "status" -d 'Show whether a guard runs, what it locks and what it set; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "explain" -d 'Explain what each policy of the guard sees now, and as root what it last did and why'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "events" -d 'Show what the guard did, each with its reason and figure; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "release" -d 'Let the guard let go of the file system at a path, so that it can be unmounted, or of one file'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "keep" -d 'Let the guard lock files again at a path of which it was told to let go; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and not __fish_seen_subcommand_from check try status explain events release keep help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from check" -l config -d 'The configuration, with FILE.d/*.toml' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from check" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from check" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from try" -l for -d 'How long, as in 90s, 10m or 2h' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from try" -l config -d 'The configuration, with FILE.d/*.toml' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from try" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from try" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from status" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from status" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from explain" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from events" -l since -d 'Only those of this time, as in 90s, 10m or 2h' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from events" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from events" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from events" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from release" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from release" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from keep" -l state -d 'The state file of the daemon; what it writes lies beside it' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from keep" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "check" -d 'Check a configuration, and say in bytes what each policy would do here; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "try" -d 'Run one policy of the guard for a while, and take back what it did; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "status" -d 'Show whether a guard runs, what it locks and what it set; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "explain" -d 'Explain what each policy of the guard sees now, and as root what it last did and why'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "events" -d 'Show what the guard did, each with its reason and figure; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "release" -d 'Let the guard let go of the file system at a path, so that it can be unmounted, or of one file'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "keep" -d 'Let the guard lock files again at a path of which it was told to let go; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand guard; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and not __fish_seen_subcommand_from estimate help" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and not __fish_seen_subcommand_from estimate help" -f -a "estimate" -d 'Estimate what merging equal pages would save in running processes, before it is switched on'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and not __fish_seen_subcommand_from estimate help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l pid -d 'Look at these processes, separated by commas (repeatable) [default: all]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l cgroup -d 'Look at the processes of this control group and of its descendants' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l sample-time -d 'Seconds from the first look at the pages to the second; what changes meanwhile does not merge' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l cpu-limit -d 'Seconds of CPU time that the estimate may take; what is not reached by then widens the interval' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l keep -d 'Pages kept for comparison, at 24 bytes each; where there are more, one content in 2, 4, … is kept and the interval says what that costs' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from estimate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from help" -f -a "estimate" -d 'Estimate what merging equal pages would save in running processes, before it is switched on'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand ksm; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand studies" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand studies" -l csv -d 'Write CSV, one line a study'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand studies" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l set -d 'Add an arm of your own with this setting (repeatable); a size may have a unit, as in 64M' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l like -d 'Ask it of the machine in this evidence (a capture), or of `this` one: its memory, CPUs, swap, kind of disk, and the settings that differ from the kernel\'s defaults' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l memory -d 'Ask it of a machine with this much memory, as in 16G; the workload grows with it' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l cpus -d 'Ask it of a machine with that many CPUs' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l disk -d 'Ask it of a machine with such a disk' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l arm -d 'Run only this arm (repeatable) [default: all]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l repetitions -l seeds -d 'Runs of each arm, each with its own seed, and no more of them [default: what the study says, and with `predict` more of arms whose verdict or rank is open]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l time -d 'Run arms whose verdict or rank is open more often, up to 40 times, but begin no round that is not likely to end within this many seconds; 0 for no further runs [default: no limit for predict, 0 for prove]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l seed -d 'The seed of the first run' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l report -d 'Write a page with charts too, into this file, or as STUDY.html into this folder [default: the current one]' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l out -d 'Write that page into this folder, as STUDY.html' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l kernel -d 'The kernel that is modelled: one that the binary carries a calibration of [default: with --like the nearest, else 6.1]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l calibration -d 'A calibration made by `plimsoll calibrate`, in place of a built-in one' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l scale -d 'Real pages that a simulated one stands for: a power of two, or auto, which is 1 up to 32 GiB of memory and files and keeps the simulated pages below two million beyond, or below 262144 where all accesses are in order' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l all -d 'List every measure of every arm, also where the study says what to show first'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l json -d 'Write JSON, one document in a line, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l csv -d 'Write CSV, a line for each measure of each arm, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -l even-so -d 'Predict even where the runs are expected to take more than 5 minutes, or more memory than this machine has available'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand predict" -s h -l help -d 'Print help'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l set -d 'Add an arm of your own with this setting (repeatable); a size may have a unit, as in 64M' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l like -d 'Ask it of the machine in this evidence (a capture), or of `this` one: its memory, CPUs, swap, kind of disk, and the settings that differ from the kernel\'s defaults' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l memory -d 'Ask it of a machine with this much memory, as in 16G; the workload grows with it' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l cpus -d 'Ask it of a machine with that many CPUs' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l disk -d 'Ask it of a machine with such a disk' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l arm -d 'Run only this arm (repeatable) [default: all]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l repetitions -l seeds -d 'Runs of each arm, each with its own seed, and no more of them [default: what the study says, and with `predict` more of arms whose verdict or rank is open]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l time -d 'Run arms whose verdict or rank is open more often, up to 40 times, but begin no round that is not likely to end within this many seconds; 0 for no further runs [default: no limit for predict, 0 for prove]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l seed -d 'The seed of the first run' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l report -d 'Write a page with charts too, into this file, or as STUDY.html into this folder [default: the current one]' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l out -d 'Write that page into this folder, as STUDY.html' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l kernel -d 'The kernel: 6.1, 6.12 (stock Debian kernels), host, or the path of an image [default: with --like the nearest stock kernel, else 6.1]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l modules -d 'Modules of the kernel, where they are not found beside the image' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l clock -d 'Whose time counts: that of the guest\'s instructions, which repeats exactly, or the host\'s' -r -f -a "virtual\t'One nanosecond an instruction: the same in every run, on any host'
wall\t'The host\'s time, by KVM where it works'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l records -d 'Write the records below this folder' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l calibration -d 'Predict by a calibration made by `plimsoll calibrate`, in place of a built-in one' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l deadline -d 'Give up a VM after this many seconds of the host\'s time' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l jobs -d 'Run this many VMs at a time [default: one per CPU in virtual time, as far as memory is available; 1 in wall-clock time]' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l all -d 'List every measure of every arm, also where the study says what to show first'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l json -d 'Write JSON, one document in a line, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -l csv -d 'Write CSV, a line for each measure of each arm, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand prove" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l records -d 'The folder below which `prove` wrote its records' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l report -d 'Write a page with charts too, into this file, or as STUDY.html into this folder [default: the current one]' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l out -d 'Write that page into this folder, as STUDY.html' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l all -d 'List every measure of every arm, also where the study says what to show first'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l json -d 'Write JSON, one document in a line, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -l csv -d 'Write CSV, a line for each measure of each arm, in place of the text'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -l kernel -d 'The kernel: 6.1, 6.12 (stock Debian kernels), host, or the path of an image' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -l out -d 'Write the calibration into this folder' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -l sizes -d 'Sizes of RAM to boot, in MiB' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -l json -d 'Write what was measured as JSON too, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -l csv -d 'Write the costs as CSV too, one a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand calibrate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -l records -d 'The folder below which `prove` wrote its records' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -l starts -d 'The folder with records of further starts of the same kernels, arms and seeds; the range of a kernel covers all its starts [default: `starts` below the records]' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -l against -d 'Compare the records with those below this folder, other runs of the same kernels, instead of with the model: no model can be better than a kernel is against itself' -r -F
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -l all -d 'List every figure, not only those that miss'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -l json -d 'Write JSON, one document in a line'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand fidelity" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l memory -d 'Memory for the trace\'s pages, one size or several with commas: pages (`100000`), a size (`400 MiB`) or a share of the trace\'s distinct pages (`10%`)' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l lru -d 'The lists that pages are on' -r -f -a "classic\t'An active and an inactive list'
mglru\t'The multi-generation LRU'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l page-size -d 'Bytes of a page, by which sizes are divided' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l format -d 'How the trace is written; without it content and name decide: .csv, .tsv and .txt are CSV' -r -f -a "oracleGeneral\t'libCacheSim\'s binary records of 24 bytes'
csv\t'Values between commas, semicolons, tabs, bars or spaces'
vscsi\t'VMware\'s vscsiStats, version 1 or 2'"
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l object -d 'The object\'s column of a CSV trace: its name in the header, or its number from 1' -r
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -l json -d 'Print JSON'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand replay" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "inspect" -d 'Show the state of this machine\'s memory in the kernel\'s own terms'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "explain" -d 'Explain a tunable: its value in bytes here, the kernel\'s own choice, what goes with it'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "lint" -d 'Find what is wrong with settings: units, pairs, dead keys, values that kill'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "apply" -d 'Change this machine\'s settings so that the change can be undone'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "confirm" -d 'Confirm a change, so that it is not taken back'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "undo" -d 'Undo changes: restore every old value and remove their lines from native files'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "status" -d 'Show the changes that stand, and whether their values still hold; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "history" -d 'Show every change of this boot and those that outlived a reboot, and what became of each; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "watch" -d 'Take a change back unless it is confirmed: `apply` starts this'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "guard" -d 'The guard plimsoll-guard: what it would do here, what it does, and why; docs/guard.md says more'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "ksm" -d 'Kernel samepage merging: what it would save here, before it is switched on'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "studies" -d 'List the built-in studies: the question each answers, the time and memory it takes, and what can run it'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "predict" -d 'Predict what a study\'s settings will do, on the model: no root, no VM, in seconds'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "prove" -d 'Prove a study on a real kernel in a throwaway VM, and compare with the prediction'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "report" -d 'Show prediction and proof side by side, with the calibration error of every figure'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "calibrate" -d 'Measure what elementary operations cost on a kernel, and how it leaves the memory after boot'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "fidelity" -d 'Compare the model with every recorded kernel, study by study, and list what it misses'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "replay" -d 'Replay a trace of accesses through the kernel\'s LRU and print its miss ratio'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and not __fish_seen_subcommand_from inspect explain lint apply confirm undo status history watch guard ksm studies predict prove report calibrate fidelity replay help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "check" -d 'Check a configuration, and say in bytes what each policy would do here; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "try" -d 'Run one policy of the guard for a while, and take back what it did; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "status" -d 'Show whether a guard runs, what it locks and what it set; needs no root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "explain" -d 'Explain what each policy of the guard sees now, and as root what it last did and why'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "events" -d 'Show what the guard did, each with its reason and figure; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "release" -d 'Let the guard let go of the file system at a path, so that it can be unmounted, or of one file'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from guard" -f -a "keep" -d 'Let the guard lock files again at a path of which it was told to let go; as root'
complete -c plimsoll -n "__fish_plimsoll_using_subcommand help; and __fish_seen_subcommand_from ksm" -f -a "estimate" -d 'Estimate what merging equal pages would save in running processes, before it is switched on'
