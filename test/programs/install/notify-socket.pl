# Stands for systemd at the other end of NOTIFY_SOCKET (sd_notify(3)), since Node.js has no datagram sockets of the Unix family:
# perl notify-socket.pl SOCKET. Prints "open", and then a line for each message, its lines divided by spaces.
use strict;
use warnings;
use IO::Socket::UNIX;
use Socket;

$| = 1;
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $ARGV[0]) or die "cannot listen: $!";
chmod 0777, $ARGV[0];
print "open\n";
while (defined $socket->recv(my $message, 65536)) {
    # systemd-notify waits until this one's descriptor is closed, which it is by not being taken.
    next if $message eq 'BARRIER=1';
    $message =~ tr/\n/ /;
    print "$message\n";
}
