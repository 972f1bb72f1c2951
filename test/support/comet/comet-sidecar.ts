/** A real sidecar process in front of a plant, with short timeouts, so that tests need not wait long. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { stringify } from 'yaml';
import { type SidecarProcess, startSidecarProcess } from '../sidecar-process.ts';

export type WrittenConfig = Readonly<Record<string, unknown>>;

/** A client that is away for longer is gone; long enough for a login on a busy machine. */
export const COMET_GONE = '3s';

export interface CometSidecar {
  readonly origin: string;
  readonly process: SidecarProcess;
  close(): Promise<void>;
}

const SHORT: WrittenConfig = { sessions: { cometGone: COMET_GONE }, comet: { ackWait: '2s' } };

export async function startCometSidecar(upstreamPort: number, config: WrittenConfig = {}): Promise<CometSidecar> {
  const folder = await mkdtemp(path.join(tmpdir(), 'd2-sidecar-comet-'));
  const file = path.join(folder, 'sidecar.yaml');
  await writeFile(file, stringify({ ...SHORT, log: { level: 'warn' }, ...config }));
  const upstream = `http://127.0.0.1:${upstreamPort}/smartWeb`;
  const args = ['--upstream', upstream, '--listen', '127.0.0.1:0', '--monitor', '127.0.0.1:0', '--config', file];
  const sidecar = await startSidecarProcess(args, { D2_SIDECAR_LOG_LEVEL: 'info' });
  return {
    origin: `http://${sidecar.listen}`,
    process: sidecar,
    close: async () => {
      await sidecar.stop();
      await rm(folder, { recursive: true });
    },
  };
}
