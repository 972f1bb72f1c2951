/** Flags by which GNU tar makes the same archive of the same files; `epoch` is the time of all of them, in seconds. */
export const tarFlags = (epoch) => [
  ...['--create', '--sort=name', '--format=ustar', '--mode=go=rX,u+rw'],
  ...['--owner=0', '--group=0', '--numeric-owner', `--mtime=@${epoch}`],
];
