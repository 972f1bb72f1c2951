/** The load generator: https://github.com/wg/wrk with wrk.lua, and its output. */
import path from 'node:path';
import { SOURCE_FOLDER } from './folders.ts';
import type { Processes } from './processes.ts';

/** The kind of load; see wrk.lua. */
export interface Load {
  readonly kind: 'rpc' | 'plant' | 'answer1m' | 'upload';
  readonly connections: number;
  readonly users?: number;
  readonly names?: number;
  readonly each?: number;
  readonly thinkMs?: number;
  readonly close?: 1;
  readonly isSecure?: boolean;
}

/** `errors`: connections refused or reset, answers of 400 and above, time-outs of 10 s. */
export type WrkFigures = Readonly<Record<'requests' | 'durationUs' | 'errors' | 'p50Us' | 'p99Us', number>>;

/** Loads `port` of this machine for `seconds` with one thread. Throws when wrk prints no figures. */
export async function runWrk(processes: Processes, port: number, load: Load, seconds: number): Promise<WrkFigures> {
  const { connections, isSecure = false, ...settings } = load;
  const script = path.join(SOURCE_FOLDER, 'wrk.lua');
  const args = ['-t1', `-c${connections}`, `-d${seconds}s`, '--timeout', '10s', '-s', script];
  const pairs = Object.entries(settings).map(([key, value]) => `${key}=${value}`);
  const url = `${isSecure ? 'https' : 'http'}://127.0.0.1:${port}`;
  const output = await processes.run('wrk', [...args, url, '--', ...pairs]);
  const figures = /^figures (.*)$/m.exec(output)?.[1];
  if (figures === undefined) throw new Error(`wrk printed no figures: ${output.trim().slice(-500)}`);
  return JSON.parse(figures) as WrkFigures;
}
