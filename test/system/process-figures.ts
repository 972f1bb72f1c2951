import { readdirSync, readFileSync, readlinkSync } from 'node:fs';

/** Resident memory of a process in bytes, from /proc. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'));
  return Number(line?.[1]) * 1024;
}

/** Open sockets of a process, listeners included. */
export function openSockets(pid: number): number {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).filter((fd) => {
    try {
      return readlinkSync(`${folder}/${fd}`).startsWith('socket:');
    } catch {
      // Closed since the folder was listed.
      return false;
    }
  }).length;
}
