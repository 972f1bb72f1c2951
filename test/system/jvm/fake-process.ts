/** A process as /proc shows it. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const OWN_UID = process.geteuid?.() ?? 0;
const OWN_GID = process.getegid?.() ?? 0;
const NO_SIGNALS = '0000000000000000';

export interface FakeState {
  readonly nspid?: number;
  readonly uid?: number;
  readonly gid?: number;
  readonly name?: string;
  readonly state?: string;
  /** Hundredths of a second since the machine's start. */
  readonly startTicks?: number;
  /** Sets of bits in hexadecimal: capabilities; handled signals (default: a JVM's, with SIGQUIT); pending signals. */
  readonly capabilities?: string;
  readonly caught?: string;
  readonly pending?: string;
}

/** Writes `status` and `stat` into the folder of the process. */
export function writeProcess(folder: string, pid: number, process: FakeState): void {
  const { nspid = pid, uid = OWN_UID, gid = OWN_GID, name = 'java', state = 'S', startTicks = 500 } = process;
  const { capabilities = '0', caught = '2000000181005ccf' } = process;
  const ids = (id: number) => `99999\t${id}\t99999\t99999`;
  const status = {
    Name: name,
    State: `${state} (whatever)`,
    Pid: pid,
    Uid: ids(uid),
    Gid: ids(gid),
    NSpid: pid === nspid ? pid : `${pid}\t${nspid}`,
    SigPnd: NO_SIGNALS,
    ShdPnd: process.pending ?? NO_SIGNALS,
    SigCgt: caught,
    CapPrm: capabilities,
    CapEff: capabilities,
  };
  const lines = Object.entries(status).map(([key, value]) => `${key}:\t${value}\n`);
  const fields = [state, ...Array.from({ length: 18 }, () => '1'), String(startTicks), '7'];
  mkdirSync(folder, { recursive: true });
  replace(join(folder, 'status'), lines.join(''));
  replace(join(folder, 'stat'), `${pid} (a ) b) ${fields.join(' ')}\n`);
}

/** A reader finds the earlier text or this one, as in /proc. */
function replace(file: string, text: string): void {
  writeFileSync(`${file}.new`, text);
  renameSync(`${file}.new`, file);
}
