/**
 * Messages on why a JVM cannot be read, for operators: what was searched for, what was found, and the key, the unit's
 * line or the mount to change. They never quote an argument of a JVM.
 */
import { JvmSourceError } from '../jvm-source.ts';
import type { Failure } from './candidates.ts';
import { pathOf } from './perf-file.ts';
import type { ProcessInfo } from './processes.ts';

const MAX_NAMED = 8;

export type OwnRights = Pick<ProcessInfo, 'uid' | 'gid' | 'effectiveCapabilities'>;

interface Named {
  readonly pid: number;
  readonly user: string;
  /** E.g. `org.apache.catalina.startup.Bootstrap`. */
  readonly command: string;
}

export function ambiguous(jvms: readonly Named[]): JvmSourceError {
  const isOneUser = new Set(jvms.map(({ user }) => user)).size === 1;
  const change = isOneUser
    ? 'Set jvm.pid to the right one (all run as the same user, so jvm.user cannot distinguish them).'
    : 'Set jvm.pid, or jvm.user, to the right one.';
  return new JvmSourceError(
    'D2S_ERR_JVM_AMBIGUOUS',
    `${jvms.length} JVMs are candidates: ${formatJvmList(jvms)}. ${change}`,
  );
}

export function formatJvmList(jvms: readonly Named[]): string {
  const named = jvms.slice(0, MAX_NAMED).map(({ pid, user, command }) => `pid ${pid} (user ${user}, ${command})`);
  const more = jvms.length - named.length;
  return named.join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** Why there are no counters of the JVM that this process is. */
export function createFailureError(process: ProcessInfo, failure: Failure, own: OwnRights): JvmSourceError {
  if (failure.kind === 'denied') return denied(process, own);
  if (failure.kind !== 'absent') return unusable(failure);
  const { pid, nspid, uid } = process;
  return new JvmSourceError(
    'D2S_ERR_JVM_NOT_FOUND',
    `The JVM with pid ${pid} has no counters file /tmp/hsperfdata_*/${nspid}. It writes none with -XX:-UsePerfData or ` +
      `-XX:+PerfDisableSharedMem (remove that option); if its user id ${uid} has no entry in its passwd file (run it as a user ` +
      'that has one, in Kubernetes by runAsUser or the image’s passwd); if its /tmp is read-only (mount an emptyDir on /tmp); ' +
      'or if another container’s JVM with the same pid and user holds that file in a shared /tmp (give each its own). ' +
      'Otherwise set jvm.source to another source.',
  );
}

/** The kernel does not let us inspect it: another user, another group, or more capabilities than ours. */
export function denied(process: ProcessInfo, own: OwnRights): JvmSourceError {
  const who = `The JVM with pid ${process.pid}`;
  if (own.uid !== process.uid) return deniedToUser(who, process.uid, own);
  if (own.gid !== process.gid) {
    return access(
      `${who} runs with group id ${process.gid}, this sidecar with ${own.gid}; to look into its own /tmp, both ids must be equal. ` +
        `Run the sidecar with the same group: "Group=${process.gid}" in its unit, or "runAsGroup: ${process.gid}" in its container.`,
    );
  }
  const missing = process.capabilities & ~own.effectiveCapabilities;
  if (missing !== 0n) {
    const names = CAPABILITIES.filter((_, bit) => ((missing >> BigInt(bit)) & 1n) !== 0n).join(' ');
    return access(
      `${who} holds capabilities that this sidecar lacks (${names}), so that the kernel keeps /proc of it closed. Debian’s ` +
        'tomcat10.service is such a unit. Either give the sidecar’s unit the same: ' +
        `"AmbientCapabilities=${names}" with the JVM’s "User=" and "Group="; or share its /tmp: ${JOIN_UNIT_LINES}; or run it as root.`,
    );
  }
  return access(
    `${who} runs with the same ids as this sidecar, but the kernel does not let it look at /proc/${process.pid}/root. ` +
      'A security module (AppArmor, SELinux, Yama) may forbid it; if the JVM’s unit has "PrivateTmp=yes", join it: ' +
      `${JOIN_UNIT_LINES}. In Kubernetes, mount one emptyDir on /tmp in both containers.`,
  );
}

const JOIN_UNIT_LINES =
  '"PrivateTmp=yes" and "JoinsNamespaceOf=<the JVM’s unit>, e.g. tomcat10.service" in the sidecar’s unit';

/** The id shown for users that our user namespace lacks (user_namespaces(7)). Elsewhere it is the user `nobody`. */
const OVERFLOW_UID = 65_534;
const HIDDEN =
  ' If this sidecar’s unit has "PrivateUsers=yes", 65534 stands for any other user: take "User=" and "Group=" of the JVM’s unit, e.g. "User=tomcat".';

export function deniedToUser(who: string, uid: number, own: OwnRights): JvmSourceError {
  if (own.uid === 0) {
    return access(
      `${who} runs as user id ${uid}; this sidecar is root, but without the capabilities to read other users’ processes and files. ` +
        `Give it CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH ("AmbientCapabilities=" or "securityContext.capabilities.add"), or run it as user id ${uid}.`,
    );
  }
  return access(
    `${who} runs as user id ${uid}, this sidecar as ${own.uid}, and only the JVM’s own user may read its counters. Run the sidecar as ` +
      `the same user and group: "User=" and "Group=" in its unit, "runAsUser: ${uid}" in its container; or as root.${uid === OVERFLOW_UID ? HIDDEN : ''}`,
  );
}

/** The file exists, and no counters can be taken from it. */
export function unusable(failure: Exclude<Failure, { kind: 'absent' | 'denied' }>): JvmSourceError {
  const path = pathOf(failure.path);
  if (failure.kind === 'starting') {
    const message = `The JVM of ${path} is starting, and its counters are not complete yet.`;
    return new JvmSourceError('D2S_ERR_JVM_NOT_FOUND', message);
  }
  if (failure.kind === 'refused')
    return access(
      `The counters file ${path} is not trusted: ${failure.reason}. A JVM leaves a regular file in a directory of the same owner with ` +
        'mode 0755. Find out who created it, remove the directory and restart the JVM.',
    );
  return new JvmSourceError(
    'D2S_ERR_JVM_FORMAT',
    `The counters file ${path} cannot be read: ${failure.reason}. If the JVM is not HotSpot, set jvm.source to another source.`,
  );
}

/** Adds to `why` the bounds that ended the search early: a JVM may be beyond them. */
export function beyondBounds(why: JvmSourceError, hits: string): JvmSourceError {
  return new JvmSourceError(
    why.code,
    `The search for the JVM ended at ${hits}, and a JVM beyond that is not found. Remove what does not belong there (another user of ` +
      'this machine may have left it), or set jvm.user to the JVM’s user, whose folder is searched first. ' +
      `If the JVM does not lie beyond it: ${why.message}`,
    why.cause,
  );
}

function access(message: string): JvmSourceError {
  return new JvmSourceError('D2S_ERR_JVM_ACCESS', message);
}

/** The names of capabilities(7), in the order of their bits. */
const CAPABILITIES = (
  'CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE NET_BIND_SERVICE ' +
  'NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT SYS_ADMIN ' +
  'SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP MAC_OVERRIDE ' +
  'MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE'
)
  .split(' ')
  .map((name) => `CAP_${name}`);
