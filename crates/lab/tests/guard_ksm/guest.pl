# A stand-in for a virtual machine: MIB of memory, of which it offers all to be merged.
# 40 % is the same in all stand-ins, 10 % in four pages each, 10 % empty, 10 % changes every two
# seconds, 30 % is its own. After SIGUSR1 it is updated for a minute: a quarter of what is the same
# in all becomes something else, again the same in all, and every hundredth page its own.
use strict;
use warnings;
use integer;

my ($number, $mebibytes) = @ARGV;
my ($page, $mergeable, $madvise) = (4096, 12, 28);
my ($common, $copies, $own) = (1 << 40, $number + 1 << 20, $number + 1 << 30);
my $pages = $mebibytes * 1048576 / $page;

# One buffer of zeros, without a copy; pages begin somewhere in its first one.
my $memory = '';
vec($memory, ($pages + 1) * $page - 1, 8) = 0;
my $address = unpack 'J', pack 'P', $memory;
my $first = -$address & $page - 1;
syscall($madvise, $address + $first, $pages * $page, $mergeable) == 0 or die "madvise: $!\n";

sub write_to {
    my ($index, $content) = @_;
    my $word = $content * 0x9E3779B1;
    substr $memory, $first + $index * $page, $page, pack('q2', $word, $content) x ($page / 16);
}

for my $index (0 .. $pages - 1) {
    my $kind = $index % 10;
    next if $kind == 5;
    write_to($index, $kind < 4 ? $common + $index : ($kind == 4 ? $copies + $index / 40 : $own + $index));
}
open my $ready, '>', "/run/filled.$number" or die "ready: $!\n";
close $ready;

my ($tick, $updated) = (0, undef);
$SIG{USR1} = sub { $updated = 0 };
while () {
    select undef, undef, undef, 2;
    $tick++;
    for (my $index = 6; $index < $pages; $index += 10) {
        substr $memory, $first + $index * $page, 8, pack 'q', $own + $index + ($tick << 34);
    }
    next unless defined $updated;
    my $until = $updated + $pages / 30;
    for (; $updated < $until && $updated < $pages; $updated++) {
        write_to($updated, 2 * $common + $updated) if $updated % 10 == 0;
        write_to($updated, 3 * $own + $updated) if $updated % 100 == 1;
    }
}
